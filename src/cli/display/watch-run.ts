/** Watches a run on which another process works, as `foliopipe status --watch` does, until no process works on it. */
import {
  type Config,
  createProgressReader,
  isUnfinished,
  type LockHolder,
  openStateReader,
  type ProgressSnapshot,
  type Run,
  type StateReader,
  shownRun,
  systemClock,
} from '../../../pipelines/index.js';
import { escapeUnprintable } from '../../text.js';
import type { CommonOptions } from '../common-options.js';
import { createLogger } from '../create-logger.js';
import { stderr, stdout, writeJson } from '../output.js';
import { openProgress, stateOf } from './progress.js';
import { createCommandTerminal } from './terminal.js';

/**
 * Shows the run on the terminal, or logs it; with `--json`, prints an object for each change. Ends if stdout is lost.
 * @param signal ends the watch.
 */
export async function watchRun(
  state: StateReader,
  { pipeline }: Pick<Config, 'pipeline'>,
  { id }: Pick<Run, 'id'>,
  options: CommonOptions,
  signal: AbortSignal,
): Promise<void> {
  const terminal = createCommandTerminal(options);
  const logger = createLogger(options, terminal);
  const progress = openProgress({ json: false, logger, terminal });
  const read = createProgressReader(id, { checkpoint: state, clock: systemClock });
  let printed = '';
  try {
    for (;;) {
      const holder = await state.worker(pipeline);
      const snapshot = await read();
      if (snapshot === undefined) return;
      progress.onProgress({ type: 'progress', ...snapshot });
      const now = stateOf({ type: 'progress', ...snapshot });
      if (options.json && now !== printed) writeJson('progress', snapshot);
      printed = now;
      if (stdout.lost !== undefined) return;
      if (hasEnded(snapshot, await state.run(id), holder)) return;
      await systemClock.sleep(readEvery, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    progress.close();
  }
}

const readEvery = 500;
/** Longer for a database without a state, because each attempt opens a connection. */
const connectEvery = 5_000;

/**
 * Waits until the pipeline has a run, and says once that it waits. A run exists from the end of the source's check.
 * @param signal ends the wait.
 * @returns the opened state, to be closed; undefined if the signal came first.
 */
export async function waitForFirstRun(
  config: Pick<Config, 'stateDir' | 'state' | 'pipeline'>,
  signal: AbortSignal,
): Promise<StateReader | undefined> {
  const { pipeline, state: database, stateDir } = config;
  let state: StateReader | undefined;
  for (let isPrinted = false; !signal.aborted; isPrinted = true) {
    state ??= await openStateReader(config);
    const run = await findLast(state, pipeline);
    if (run !== undefined) return state;
    if (database === null) {
      // The folder may be removed and made again before the first run. A database stays open, to connect only once.
      await state?.close();
      state = undefined;
    }
    if (!isPrinted) {
      const text = `pipeline ${pipeline} has no run yet in ${database ?? stateDir}; waiting for the first one (Ctrl-C ends the wait)`;
      stderr.write(`${escapeUnprintable(text)}\n`);
    }
    const connects = database !== null && state === undefined;
    await systemClock.sleep(connects ? connectEvery : readEvery, signal).catch(() => undefined);
  }
  await state?.close();
  return undefined;
}

/** Closes the state if it cannot be read: an open one keeps the process from ending. */
async function findLast(state: StateReader | undefined, pipeline: string): Promise<Run | undefined> {
  try {
    return state && (await shownRun(state, pipeline, 'last'));
  } catch (error) {
    await state?.close();
    throw error;
  }
}

/** Whether no process works on the run any more: one that works on the pipeline may work on its next run. */
function hasEnded(
  snapshot: Pick<ProgressSnapshot, 'state'>,
  run: Run | undefined,
  holder: LockHolder | undefined,
): boolean {
  if (holder === undefined) return true;
  if (isUnfinished(snapshot)) return false;
  return holder.since > (run?.finishedAt ?? 0);
}
