/** `foliopipe status`: shows the state of a run, also while another process works on it. */
import type { Command } from 'commander';
import {
  abandonCommand,
  abandonedText,
  accountText,
  adoptHint,
  type CheckpointReader,
  type ChunkRow,
  type Config,
  ConfigError,
  createOutputStore,
  createProgressReader,
  findAccount,
  findMove,
  findRestamped,
  findWorker,
  type InterruptedError,
  isCompleted,
  leftFoliosHint,
  loadStatus,
  lostFolioText,
  missingLoad,
  nextTerms,
  type openStateReader,
  type ProgressSnapshot,
  type Run,
  type RunSummary,
  settingsToGoOn,
  shownRun,
  summarizeRun,
  systemClock,
  unconfirmedText,
  type WorkingProcess,
  withCutOffUploads,
} from '../../../pipelines/index.js';
import { formatDuration } from '../../quantities.js';
import { escapeUnprintable } from '../../text.js';
import {
  type CommonOptions,
  type Finish,
  readConfig,
  withConfigOptions,
  withOutputOptions,
} from '../common-options.js';
import { progressText } from '../display/progress.js';
import { waitForFirstRun, watchRun } from '../display/watch-run.js';
import { print, printJson } from '../output.js';
import { openState, warnOfMove } from '../session.js';
import { listenForStop } from '../stop-signals.js';
import { missingLoadText } from '../texts/load-text.js';
import { nextSteps, rememberUnfinished } from '../texts/next-steps.js';
import { runReuseLines } from '../texts/reuse-text.js';
import { summaryText } from '../texts/summary-text.js';
import { laterRunText, leaseText, partialLines } from '../texts/unfinished-text.js';

interface Options extends CommonOptions {
  readonly run?: string;
  readonly watch?: boolean;
}

export function addStatus(command: Command, finish: Finish): void {
  command
    .argument('[file]', 'config file')
    .option('--run <id>', 'this run in place of the last: an id, the beginning of one, or last')
    .option(
      '--watch',
      'show how the run goes on, until no process works on it any more; waits for a first run',
    );
  withOutputOptions(withConfigOptions(command)).action(async (file: string | undefined, options: Options) => {
    const config = await readConfig(options, file, 'nothing');
    const stop = options.watch ? listenForStop(() => undefined) : undefined;
    const waits = stop !== undefined && options.run === undefined;
    let state: Awaited<ReturnType<typeof openStateReader>>;
    try {
      state = waits ? await waitForFirstRun(config, stop.signal) : await openState(config);
      if (state === undefined) return finish(exitCodeOf(stop!.signal));
      if (waits) await warnOfMove(config);
      const chosen = await chooseRun(state, config.pipeline, options.run);
      if (stop) await watchRun(state, config, chosen, options, stop.signal);
      if (stop?.signal.aborted) return finish(exitCodeOf(stop.signal));
      const run = (await state.run(chosen.id))!;
      // Asked first: a process that begins meanwhile has sent nothing yet.
      const holder = await findWorker(config);
      const reader = holder === undefined ? withCutOffUploads(state) : state;
      const summary = await summarizeRun(
        { checkpoint: reader, output: createOutputStore(config, { attempts: 1 }), config },
        run.id,
        'continued',
        { load: await loadStatus(state, config, run) },
      );
      const doubt = unconfirmedText(config);
      const missing = await missingLoad(state, config, run);
      const account = await findAccount(config, run.service);
      if (doubt !== undefined && !options.json) await print(`${doubt}\n`);
      if (options.json)
        await printJson('summary', {
          ...summary,
          missingLoad: missing,
          working: holder ?? null,
          account: account ?? null,
          moved: (await findMove(config)) ?? null,
          database:
            config.state === null
              ? null
              : { place: String(config.state), setBy: config.state.origin ?? null },
        });
      else if (isCompleted(run)) {
        const text = summaryText(summary, nextTerms(config));
        const notes = copiedText(run) + missingLoadText(missing) + (await otherSourceText(run));
        await print(nextSteps(text + notes + workingText(holder) + accountLine(account) + stateLine(config)));
      } else {
        rememberUnfinished(settingsToGoOn(config, run), run.source.limit);
        const snapshot = (await createProgressReader(run.id, { checkpoint: reader, clock: systemClock })())!;
        const text = await openText(reader, run, summary, snapshot, config.poll.timeout);
        await print(
          nextSteps(
            text +
              missingLoadText(missing) +
              workingText(holder, snapshot) +
              accountLine(account) +
              stateLine(config),
          ),
        );
      }
      finish(0);
    } finally {
      await state?.close();
      stop?.close();
    }
  });
}

/** The run goes on when a signal has ended the watch. */
function exitCodeOf({ reason }: AbortSignal): number {
  return (reason as InterruptedError).exitCode;
}

async function chooseRun(state: CheckpointReader, pipeline: string, id: string | undefined): Promise<Run> {
  const run = await shownRun(state, pipeline, id ?? 'last');
  if (run !== undefined) return run;
  throw new ConfigError(
    'RUN_UNKNOWN',
    id === undefined ? `pipeline ${pipeline} has no run` : `there is no run ${id}`,
    {
      hint: 'see the runs with: foliopipe runs --all',
    },
  );
}

/** The source of a run that has read a copy, and how old it is; empty for files that are read where they are. */
function copiedText({ source, createdAt }: Run): string {
  const [first, ...others] = source.files;
  if (first?.name === undefined) return '';
  const more = others.length > 0 ? ` and ${others.length} more` : '';
  const age = formatDuration(Date.now() - createdAt);
  return `  source: ${escapeUnprintable(first.name)}${more}, copied ${age} ago\n`;
}

/**
 * Says which process works on the pipeline now; else what goes on with the run, if it is unfinished.
 * @param unfinished left out if nothing needs to go on.
 */
function workingText(holder: WorkingProcess | undefined, unfinished?: ProgressSnapshot): string {
  if (holder !== undefined) {
    const { pid, command, since, host, leaseLeftMs, leaseSilentMs = null } = holder;
    const age = formatDuration(Math.max(Date.now() - since, 0));
    const where = host === undefined ? '' : ` on ${escapeUnprintable(host)}`;
    const lease = leaseLeftMs === undefined ? '' : `; ${leaseText(leaseLeftMs, leaseSilentMs)}`;
    return `  working   process ${pid}${where} (${escapeUnprintable(command)}) has been working on the pipeline for ${age}${lease}\n`;
  }
  if (unfinished === undefined || unfinished.state === 'superseded') return '';
  return `  no process works on it; go on with: foliopipe run, which ${laterRunText(unfinished)}; if what stopped it lasts, that run says what it is\n`;
}

function accountLine(account: Awaited<ReturnType<typeof findAccount>>): string {
  if (account === undefined) return '';
  const hint = account.waiting > 0 ? leftFoliosHint(account) : undefined;
  const next = hint === undefined ? '' : `  ${hint}\n`;
  return `  account   ${account.service}: ${accountText(account, Date.now())}\n${next}`;
}

/** Says where a state in a database is, because a variable may name another one than the config. */
function stateLine({ state }: Pick<Config, 'state'>): string {
  return state === null ? '' : `  state     ${state}, set by ${state.origin ?? 'the config'}\n`;
}

/** Says that the commands that publish a withheld run need another source than the one that is there. */
async function otherSourceText({ source, state, prunedAt }: Run): Promise<string> {
  if (state !== 'withheld' || prunedAt !== null) return '';
  const file = await findRestamped(source.files);
  if (file === undefined) return '';
  const { path, name, bytes, sha256 } = file;
  const copy = name === undefined ? '' : ` (the copy of ${escapeUnprintable(name)})`;
  return `  These need the source that the run has read: ${path}${copy} with ${bytes} bytes, sha256 ${sha256}. The file there has changed or was touched since; if its content differs, put the old one back first: foliopipe run would begin a new run with the other.\n`;
}

/**
 * The state of an unfinished run, with its open folios.
 * @param patience `poll.timeout`, in ms: the command that gives up a folio is named for those that are open for longer.
 */
async function openText(
  state: CheckpointReader,
  run: Run,
  summary: RunSummary,
  snapshot: ProgressSnapshot,
  patience: number,
): Promise<string> {
  const { abandoned, adoptable, lost } = summary;
  const shown = await state.chunksIn(run.id, ['submitted', 'finished', 'ambiguous'], 0, 50);
  // Those have a line of their own, with what to do.
  const doubtful = new Set(adoptable.map(({ chunk }) => chunk));
  const folios = shown.filter(({ number }) => !doubtful.has(number));
  const age = (at: number | null) => (at === null ? '' : `, ${formatDuration(Date.now() - at)} ago`);
  const isStuck = ({ state, submittedAt }: ChunkRow) =>
    run.state === 'open' && state === 'submitted' && Date.now() - submittedAt! > patience;
  const lines = [
    `${run.source.limit === undefined ? 'run' : `sample (--limit ${run.source.limit})`} ${run.id} of ${formatDuration(Date.now() - run.createdAt)} ago is ${run.state}`,
    `  ${progressText(snapshot, Date.now())}`,
    ...partialLines(summary),
    ...runReuseLines(summary),
    ...folios.map(
      (c) =>
        `  chunk ${c.number}: ${c.state}${c.folio === null ? '' : `, folio ${c.folio}`}${age(c.submittedAt)}${isStuck(c) ? `; to give it up: ${abandonCommand(run.id, c.number)}` : ''}`,
    ),
    ...adoptable.map((one) => `  chunk ${one.chunk} was possibly accepted; ${adoptHint(run.id, one)}`),
    ...lost.map((one) => `  ${lostFolioText(run.id, one)}`),
    ...abandoned.map((one) => `  ${abandonedText(run.id, one)}`),
  ];
  return `${lines.join('\n')}\n${copiedText(run)}`;
}
