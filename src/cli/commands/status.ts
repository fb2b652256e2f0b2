/** `foliopipe status`: shows the state of a run, also while another process works on it. */
import type { Command } from 'commander';
import {
  type CheckpointReader,
  ConfigError,
  createOutputStore,
  createProgressReader,
  type FoliopipeError,
  findAccount,
  findMove,
  findNextStop,
  hintOf,
  type InterruptedError,
  isCompleted,
  loadStatus,
  missingLoad,
  type Run,
  type StateReader,
  shownRun,
  summarizeRun,
  systemClock,
  termsOfRun,
  unconfirmedText,
  withCutOffUploads,
} from '../../../pipelines/index.js';
import { type CommonOptions, type Finish, readConfig, withCommonOptions } from '../common-options.js';
import { waitForFirstRun, watchRun } from '../display/watch-run.js';
import { print, printJson } from '../output.js';
import { openState, rememberValues, warnOfMove } from '../session.js';
import { listenForStop } from '../stop-signals.js';
import { missingLoadText } from '../texts/load-text.js';
import { nextSteps } from '../texts/next-steps.js';
import {
  accountLine,
  copiedText,
  endedText,
  otherSourceText,
  stateLine,
  touchedSourceText,
  unfinishedText,
  workingText,
} from '../texts/status-text.js';
import { summaryText } from '../texts/summary-text.js';

interface Options extends CommonOptions {
  readonly run?: string;
  readonly watch?: boolean;
}

export function addStatus(command: Command, finish: Finish): void {
  command
    .argument('[file]', 'config file')
    .option('--run <id>', 'this run instead of the last: an id, the beginning of one, or last')
    .option('--watch', 'show the progress until no process works on the run; waits for the first run');
  withCommonOptions(command).action(async (file: string | undefined, options: Options) => {
    const config = await readConfig(options, file, 'nothing');
    const stop = options.watch ? listenForStop(() => undefined) : undefined;
    const waits = stop !== undefined && options.run === undefined;
    let state: StateReader | undefined;
    try {
      state = waits ? await waitForFirstRun(config, stop.signal) : await openState(config);
      if (state === undefined) return finish(exitCodeOf(stop!.signal));
      if (waits) await warnOfMove(config);
      const chosen = await chooseRun(state, config.pipeline, options.run);
      if (stop) await watchRun(state, config, chosen, options, stop.signal);
      if (stop?.signal.aborted) return finish(exitCodeOf(stop.signal));
      const run = (await state.run(chosen.id))!;
      // Asked before the summary is read: a process that begins later has sent nothing yet.
      const holder = await state.worker(config.pipeline);
      const reader = holder === undefined ? withCutOffUploads(state) : state;
      const output = createOutputStore(config, { attempts: 1 });
      const summary = await summarizeRun({ checkpoint: reader, output, config }, run.id, 'continued', {
        load: await loadStatus(state, config, run),
      });
      // While a process works, nothing stops it: it has passed these checks.
      const nextStop =
        holder === undefined ? await findNextStop({ config, checkpoint: state, output }, run) : undefined;
      const doubt = unconfirmedText(config);
      const missing = await missingLoad(state, config, run);
      const account = await findAccount(config, run.service);
      if (doubt !== undefined && !options.json) await print(`${doubt}\n`);
      if (options.json) {
        await printJson('summary', {
          ...summary,
          missingLoad: missing,
          working: holder ?? null,
          nextStop: nextStop === undefined ? null : stopFields(nextStop),
          account: account ?? null,
          moved: (await findMove(config)) ?? null,
          database:
            config.state === null
              ? null
              : { place: String(config.state), setBy: config.state.origin ?? null },
        });
        return;
      }
      let text: string;
      if (isCompleted(run)) {
        text = summaryText(summary, termsOfRun(config, run)) + endedText(run) + copiedText(run);
        text += missingLoadText(missing) + (await otherSourceText(run)) + workingText(holder, nextStop);
      } else {
        rememberValues(config, run);
        const snapshot = (await createProgressReader(run.id, { checkpoint: reader, clock: systemClock })())!;
        text = await unfinishedText(reader, run, summary, snapshot, config.poll.timeout);
        text += missingLoadText(missing);
        if (holder === undefined) text += await touchedSourceText(run, config);
        text += workingText(holder, nextStop, snapshot, run.source.files[0]?.name);
      }
      await print(nextSteps(text + accountLine(account) + stateLine(config)));
    } finally {
      await state?.close();
      stop?.close();
    }
  });
}

/** The exit code after a signal has ended the watch. The run itself goes on. */
function exitCodeOf({ reason }: AbortSignal): number {
  return (reason as InterruptedError).exitCode;
}

/** The error that will stop the next `foliopipe run`, with the fields that the summary of that run has. */
function stopFields(stop: FoliopipeError) {
  const { code, message, exitCode, facts } = stop;
  return { code, message, hint: nextSteps(hintOf(stop) ?? ''), exitCode, facts };
}

async function chooseRun(state: CheckpointReader, pipeline: string, id: string | undefined): Promise<Run> {
  const run = await shownRun(state, pipeline, id ?? 'last');
  if (run !== undefined) return run;
  const isNamed = id !== undefined;
  throw new ConfigError(
    'RUN_UNKNOWN',
    isNamed ? `there is no run ${id}` : `pipeline ${pipeline} has no run yet`,
    { hint: isNamed ? SEE_RUNS : BEGIN_ONE },
  );
}

const SEE_RUNS = 'see the runs with: foliopipe runs --all';
const BEGIN_ONE = 'begin one with: foliopipe run; those of other pipelines: foliopipe runs --all';
