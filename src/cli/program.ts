/** The table of commands. Loads only the code of the called command. */
import { dirname } from 'node:path';
import { Command } from 'commander';
import type { Finish } from './common-options.js';
import { stdout } from './output.js';
import { asStarted } from './texts/next-steps.js';
import { packageFile, version } from './texts/page-paths.js';

/** Gives a command its arguments, flags and action. */
type Add = (command: Command, finish: Finish) => void;

interface Row {
  readonly name: string;
  /** Flags and arguments, as the list of commands shows them. */
  readonly usage: string;
  readonly description: string;
  /** Shown in the help of the command. */
  readonly examples?: readonly string[];
  readonly load: () => Promise<Add>;
}

/** In the order in which people need them. Most are one file in `commands/`. */
export const rows: readonly Row[] = [
  {
    name: 'init',
    usage: '[options] [csv]',
    description: 'look at a CSV and write a first config for it; asks on a terminal',
    examples: [
      'init businesses.csv',
      "init 'data/*.csv.gz' -c nightly.yaml --yes",
      'init export.csv --name "Legal Name" --address Street --state ST',
    ],
    load: async () => (await import('./commands/init.js')).addInit,
  },
  {
    name: 'run',
    usage: '[options] [file]',
    description: 'enrich the source: begin a run, or continue an interrupted one',
    examples: [
      'run',
      'run -c nightly.yaml --deadline 06:00 --publish-partial',
      'run --limit 100',
      'run --rehearse drain-0310',
    ],
    load: async () => (await import('./commands/run.js')).addRun,
  },
  {
    name: 'submit',
    usage: '[options] [file]',
    description: 'the first half of run: upload every chunk; waits only while too many folios are open',
    examples: ['submit -c nightly.yaml', 'submit --wait-lock 10m'],
    load: async () => (await import('./commands/submit.js')).addSubmit,
  },
  {
    name: 'collect',
    usage: '[options] [file]',
    description:
      'the second half of run: wait for the folios, download their parts, publish; uploads nothing',
    examples: ['collect', 'collect --no-wait'],
    load: async () => (await import('./commands/collect.js')).addCollect,
  },
  {
    name: 'plan',
    usage: '[options] [file]',
    description: 'check the whole source and show what a run would send and cost; asks no service',
    examples: ['plan', 'plan --limit 100', 'plan --new --json'],
    load: async () => (await import('./commands/plan.js')).addPlan,
  },
  {
    name: 'status',
    usage: '[options] [file]',
    description: 'show the state of the last run, also while another process works on it',
    examples: ['status', 'status --run last --json'],
    load: async () => (await import('./commands/status.js')).addStatus,
  },
  {
    name: 'runs',
    usage: '[options] [file]',
    description: 'list the runs of this pipeline, newest first',
    examples: ['runs', 'runs --all --json', 'runs prune --older-than 30d --dry-run'],
    load: async () => (await import('./commands/runs.js')).addRuns,
  },
  {
    name: 'report',
    usage: '[options] [run] [file]',
    description: 'write an HTML page about a run: its timeline, failures, codes, and the nights before',
    examples: ['report', 'report last --output night.html'],
    load: async () => (await import('./commands/report.js')).addReport,
  },
  {
    name: 'publish',
    usage: '[options] <run> [file]',
    description:
      'write the output of a run again from the bought results; asks the service only for lost ones',
    examples: ['publish last', 'publish 20261123T03 --output elsewhere.csv'],
    load: async () => (await import('./commands/publish.js')).addPublish,
  },
  {
    name: 'load',
    usage: '[options] [run] [file]',
    description:
      'load the output of a run into a table (section load), once; run and collect do this automatically',
    examples: ['load', 'load last --print snowflake'],
    load: async () => (await import('./commands/load.js')).addLoad,
  },
  {
    name: 'retry',
    usage: '[options] <run> [file]',
    description: 'send the failed records of a run again and publish the result; they are paid for again',
    examples: ['retry last', 'retry 20261123T03 --by search'],
    load: async () => (await import('./commands/retry.js')).addRetry,
  },
  {
    name: 'adopt',
    usage: '[options] <folio> [file]',
    description: "bind a folio that the service's console shows to a chunk that may have been accepted",
    examples: ['adopt F8K2M1 --run last --chunk 7'],
    load: async () => (await import('./commands/adopt.js')).addAdopt,
  },
  {
    name: 'abandon',
    usage: '[options] [file]',
    description: 'give up a folio that never finishes, so that its run can end; adopt binds it again',
    examples: ['abandon --run last --chunk 7'],
    load: async () => (await import('./commands/abandon.js')).addAbandon,
  },
  {
    name: 'recover',
    usage: '[options] [file]',
    description: 'rebuild a checkpoint that was lost, damaged or restored from an old copy; pays nothing',
    examples: ['recover --dry-run', 'recover'],
    load: async () => (await import('./commands/recover.js')).addRecover,
  },
  {
    name: 'state',
    usage: '[options] [command]',
    description: 'back up the state while runs work on it, restore it, or copy it into a database and back',
    examples: [
      'state backup /backups/foliopipe',
      'state restore /backups/foliopipe',
      `state copy --from .foliopipe --to '\${STATE_URL}'`,
    ],
    load: async () => (await import('./commands/state.js')).addState,
  },
  {
    name: 'reuse',
    usage: '[options] [command]',
    description:
      'show, prune, forget or import the answers that later runs take instead of buying them again',
    examples: ['reuse show', 'reuse forget --older-than 90d', 'reuse import old.csv --paid-at 2026-10-31'],
    load: async () => (await import('./commands/reuse.js')).addReuse,
  },
  {
    name: 'ledger',
    usage: '[options] [file]',
    description: 'list all uploads and searches that were, or may have been, paid for, with their sum',
    examples: ['ledger --month 2026-11', 'ledger --all --csv'],
    load: async () => (await import('./commands/ledger.js')).addLedger,
  },
  {
    name: 'search',
    usage: '[options] [file]',
    description: 'search for one business; it costs one record, and counts in ledger and budget',
    examples: ['search --name "Bitterroot Dental Clinic" --state MT'],
    load: async () => (await import('./commands/search.js')).addSearch,
  },
  {
    name: 'check',
    usage: '[options] [file]',
    description: 'check config, folders, source and service without paying; exit 0 when all is well',
    examples: ['check', 'check -c nightly.yaml --json'],
    load: async () => (await import('./commands/check.js')).addCheck,
  },
  {
    name: 'config',
    usage: '[options] [command]',
    description: 'show every key of the config with its value, and where it comes from',
    examples: ['config show --origins -c nightly.yaml', 'config show --json --set chunks.maxRecords=500'],
    load: async () => (await import('./commands/config.js')).addConfig,
  },
  {
    name: 'enqueue',
    usage: '[options] [config...]',
    description: 'enqueue runs for the workers of a fleet, now or by schedule (needs state: postgres://...)',
    examples: [
      'enqueue',
      'enqueue night-a.yaml night-b.yaml',
      'enqueue --schedule',
      'enqueue --again nightly',
    ],
    load: async () => (await import('./commands/enqueue.js')).addEnqueue,
  },
  {
    name: 'worker',
    usage: '[options] [file]',
    description: 'do enqueued runs, with the other workers of the fleet; start it on any number of machines',
    examples: ['worker --runs 4', 'worker -c nightly.yaml --port 9100 --host 0.0.0.0'],
    load: async () => (await import('./commands/worker.js')).addWorker,
  },
  {
    name: 'fleet',
    usage: '[options] [file]',
    description: 'show workers, runs, waiting jobs, schedules, and what waits for a person',
    examples: ['fleet', 'fleet --watch', 'fleet --json'],
    load: async () => (await import('./commands/fleet.js')).addFleet,
  },
  {
    name: 'serve',
    usage: '[options]',
    description:
      'start the local prediction service: the real interface, predictions from names alone, no cost',
    examples: ['serve --port 8787 --token demo', 'serve --predictor hash --records-per-second 500'],
    load: async () => (await import('./commands/serve.js')).addServe,
  },
];

/**
 * Builds the program for a command line.
 * @param argv as node gives it. Only the named command gets its flags and its action. The other commands get only the
 *   text for the list of commands.
 */
export async function createProgram(argv: readonly string[], finish: Finish): Promise<Command> {
  const program = new Command('foliopipe')
    .description(
      'Sends a large CSV of businesses through an asynchronous, paid prediction service and writes one enriched CSV. After any interruption the same command continues and loses no record. No record is paid for twice, except when it is unknown whether an upload was accepted (ambiguous.policy).',
    )
    .version(version)
    .exitOverride()
    // `main` reports wrong usage like every other error.
    .configureOutput({ writeOut: (text) => stdout.write(text), outputError: () => undefined })
    .configureHelp({
      sortSubcommands: false,
      subcommandTerm: (command) => `${command.name()} ${command.usage()}`,
    })
    .addHelpText('after', () => asStarted(helpText()));
  const named = namedCommand(argv);
  for (const { name, usage, description, examples = [], load } of rows) {
    const command = program.command(name).description(description);
    if (name === named) {
      (await load())(command, finish);
      if (examples.length > 0) command.addHelpText('after', examplesText(examples));
    } else command.usage(usage);
  }
  return program;
}

function examplesText(examples: readonly string[]): string {
  return `\nExamples:\n${examples.map((example) => `  foliopipe ${example}`).join('\n')}`;
}

/** The word that commander takes for the command: the first one, or the one after `help`. */
function namedCommand(argv: readonly string[]): string | undefined {
  const [first, second] = argv.slice(2).filter((word) => word !== '--');
  return first === 'help' ? second : first;
}

/** What a newcomer types, in 80 columns. */
export const firstSteps = `First steps:
  foliopipe init businesses.csv   write foliopipe.yaml, from a look at the file
  foliopipe plan                  show what would be sent, without the network
  foliopipe check                 test service, token and folders; pays nothing
  foliopipe run                   do the job, or continue it after a stop`;

const helpText = () => `
Common flags:
  -c FILE names another config than foliopipe.yaml, --json prints JSON lines,
  --no-color (or the variable NO_COLOR) prints no colours.
  runs show RUN shows all of one run; runs prune removes results of old ones.

Exit codes:
  0   done                            7   refused by the service
  1   a bug                           8   stopped by a time limit, resumable
  2   usage, config                   9   stopped by a guard, resumable
  3   published, too many FAILED      10  still processing (collect --no-wait)
      or some UNPROCESSED             11  another run holds the lock
  4   source missing, malformed,      130, 143
      or changed                          interrupted, resumable
  5   temporary trouble: run again
  6   answers that cannot be trusted

${firstSteps}

Docs: README.md in the folder of the package:
  ${dirname(packageFile)}`;
