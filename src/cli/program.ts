/** The table of contents: every command with what it is for. Only the one that is asked for is loaded. */
import { createRequire } from 'node:module';
import { Command } from 'commander';
import { ConfigError } from '../errors.js';
import type { Finish } from './common-options.js';
import { stdout } from './output.js';

// By the package's own name: the same from the sources and from what is built of them.
const { version } = createRequire(import.meta.url)('foliopipe/package.json') as { version: string };

/** Gives a command its arguments, flags and action. */
type Add = (command: Command, finish: Finish) => void;

export interface Row {
  readonly name: string;
  /** What may follow the name, as the list of commands shows it. */
  readonly usage: string;
  readonly description: string;
  /** Not shown in the list of commands. */
  readonly hidden?: true;
  readonly load: () => Promise<Add>;
}

/** In the order in which people need them. */
export const rows: readonly Row[] = [
  {
    name: 'run',
    usage: '[options] [file]',
    description: 'enrich the source: begin, or go on with what was interrupted',
    load: async () => (await import('./commands/run.js')).addRun,
  },
  {
    name: 'submit',
    usage: '[options] [file]',
    description: 'the first half of run: upload every chunk, and wait only for free places at the service',
    load: async () => (await import('./commands/submit.js')).addSubmit,
  },
  {
    name: 'collect',
    usage: '[options] [file]',
    description: 'the second half of run: wait for the folios, fetch their parts, publish; uploads nothing',
    load: async () => (await import('./commands/collect.js')).addCollect,
  },
  {
    name: 'plan',
    usage: '[options] [file]',
    description: 'check the whole source and say what a run would send and cost; touches no network',
    load: async () => (await import('./commands/plan.js')).addPlan,
  },
  {
    name: 'status',
    usage: '[options] [file]',
    description: 'how the newest run stands; works while another process runs it',
    load: async () => (await import('./commands/status.js')).addStatus,
  },
  {
    name: 'runs',
    usage: '[options] [file]',
    description: 'list the runs of this pipeline, newest first',
    load: async () => (await import('./commands/runs.js')).addRuns,
  },
  {
    name: 'publish',
    usage: '[options] <run> [file]',
    description: 'write the output of a run again from what was bought, without the service',
    load: async () => (await import('./commands/publish.js')).addPublish,
  },
  {
    name: 'retry',
    usage: '[options] <run> [file]',
    description: 'send the failed records of a run again and publish anew; they are paid for again',
    load: async () => (await import('./commands/retry.js')).addRetry,
  },
  {
    name: 'adopt',
    usage: '[options] <folio> [file]',
    description: "bind a folio seen at the service's own console to a chunk that may have been accepted",
    load: async () => (await import('./commands/adopt.js')).addAdopt,
  },
  {
    name: 'recover',
    usage: '[options] [file]',
    description: 'rebuild a checkpoint that was lost, damaged or put back from an old copy; pays nothing',
    load: async () => (await import('./commands/recover.js')).addRecover,
  },
  {
    name: 'ledger',
    usage: '[options] [file]',
    description: 'list the uploads of all runs that were, or may have been, paid for, with their sum',
    load: async () => (await import('./commands/ledger.js')).addLedger,
  },
  {
    name: 'search',
    usage: '[options] [file]',
    description: 'ask the service for one business; it is paid for as one record',
    load: async () => (await import('./commands/search.js')).addSearch,
  },
  {
    name: 'check',
    usage: '[options] [file]',
    description: 'look at config, folders, source and service without paying; exit 0 when all is well',
    load: async () => (await import('./commands/check.js')).addCheck,
  },
  {
    name: 'serve',
    usage: '[options]',
    description:
      'the local prediction service: same interface, real predictions by a lexical baseline, no cost',
    load: async () => (await import('./commands/serve.js')).addServe,
  },
  {
    name: 'report',
    usage: '[options]',
    description: 'reports on runs (comes with a later release)',
    hidden: true,
    load: async () => addUnbuilt,
  },
  {
    name: 'init',
    usage: '[options]',
    description: 'write a first config (comes with a later release)',
    hidden: true,
    load: async () => addUnbuilt,
  },
];

/**
 * @param argv as node gives it. The command that it names is whole; of the others there is what the list shows.
 */
export async function createProgram(argv: readonly string[], finish: Finish): Promise<Command> {
  const program = new Command('foliopipe')
    .description(
      'Moves a large CSV of businesses through an asynchronous, paid prediction service and back into one enriched CSV. Whatever interrupts it, the same command goes on and loses no record. It pays for none twice, except where nobody can know whether an upload was accepted (ambiguous.policy).',
    )
    .version(version)
    .exitOverride()
    // Wrong usage is told like every other error, by `main`.
    .configureOutput({ writeOut: (text) => stdout.write(text), outputError: () => undefined })
    .configureHelp({
      sortSubcommands: false,
      subcommandTerm: (command) => `${command.name()} ${command.usage()}`,
    })
    .addHelpText('after', exitCodes);
  const named = namedCommand(argv);
  for (const { name, usage, description, hidden = false, load } of rows) {
    const command = program.command(name, { hidden }).description(description);
    if (name === named) (await load())(command, finish);
    else command.usage(usage);
  }
  return program;
}

/** The word that commander takes for the command: the first one, or the one behind `help`. */
function namedCommand(argv: readonly string[]): string | undefined {
  const [first, second] = argv.slice(2).filter((word) => word !== '--');
  return first === 'help' ? second : first;
}

const exitCodes = `
Exit codes:
  0 done            3 published, too many FAILED or some UNPROCESSED    5 passing trouble: run again
  1 a bug           4 source missing, malformed or changed              6 answers that cannot be trusted
  2 usage, config   7 refused by the service                            8, 9 stopped by a limit, resumable
  10 still processing (collect --no-wait)    11 another run holds the lock    130, 143 interrupted, resumable

First steps:
  foliopipe plan -c nightly.yaml     what would be sent, without the network
  foliopipe check -c nightly.yaml    whether service, token and folders are as they should be, without paying
  foliopipe run -c nightly.yaml      the job; after an interruption the same command goes on`;

/** Commands of the contract whose feature is not built yet: refused with a sentence, never ignored. */
function addUnbuilt(command: Command): void {
  command
    .allowUnknownOption()
    .allowExcessArguments()
    .action(() => {
      throw new ConfigError('NOT_YET', `foliopipe ${command.name()}: ${command.description()}`, {
        hint: 'see what there is with: foliopipe --help',
      });
    });
}
