/** Opens a run for the chain or the loop of a program, which closes it. */
import {
  type Config,
  checkCall,
  closedError,
  confirmRows,
  guardListeners,
  judgedCounts,
  openRun as openFoundRun,
  type RunOptions,
  type RunSummary,
  releaseReason,
  removeUnneeded,
  runError,
  withHandedRecords,
} from '../src/index.js';
import { endOfRun } from './end-of-run.js';
import { asClosed, withheldError } from './give-rows.js';
import { pruneAfter } from './prune.js';
import { finishEarlier, isReady, type ReadyRun, withReadyRun } from './with-ready-run.js';

/** A run that can go on, or is done. Close it, or declare it with `await using`. */
export interface OpenRun extends ReadyRun {
  /**
   * Marks the run done, because a sink of the program has all its rows and keeps them: the next source begins a new run,
   * and the same source is done. Nothing is published. Commit the rows first: after a kill in between, the run goes on
   * and gives every row again. For a run that is done already, does nothing.
   * @returns the summary; its `exitCode` is 0, or 3 where `enrich` would end with 3.
   * @throws ConfigError `RUN_CLOSED`, and `ROWS_NOT_GIVEN` while this process has not taken all rows; GuardError
   *   `ROWS_WITHHELD`;
   *   UntrustedError when the counts do not balance; SourceError when the source has changed.
   */
  confirm(): Promise<RunSummary>;
  /** The same as `close`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Takes the pipeline's lock, checks the source, and finds or begins the run. First finishes what an earlier process has
 * left: an output that was being put in place, or, under `source.onChange: supersede`, the folios of a run whose source
 * has changed.
 * @throws LockedError, ConfigError, SourceError, GuardError; everything that was opened is then closed.
 */
export async function openRun(config: Config, options: RunOptions = {}): Promise<OpenRun> {
  checkCall('openRun', { config, options });
  return withHandedRecords(options, (handed) => openReady(config, guardListeners(handed)));
}

async function openReady(config: Config, handed: RunOptions): Promise<OpenRun> {
  for (let options = handed; ; ) {
    const run = await openFoundRun(config, options);
    if (isReady(run)) return withConfirm(run);
    try {
      options = await finishEarlier(run, options);
    } catch (error) {
      throw await runError(run, error);
    } finally {
      await run.close();
    }
  }
}

/**
 * Runs a body with an open run, and closes it in any case.
 * @throws the errors of `openRun` and of the body.
 */
export async function withRun<T>(
  config: Config,
  options: RunOptions | undefined,
  body: (run: OpenRun) => Promise<T>,
): Promise<T> {
  checkCall('withRun', { config, options, body });
  return withReadyRun(config, options, (run) => body(withConfirm(run)));
}

function withConfirm(run: ReadyRun): OpenRun {
  let confirming: Promise<RunSummary> | undefined;
  // `return run.confirm()` in a block with `await using` closes the run before the confirmation has ended.
  const close = async () => {
    run.given.isClosed = true;
    await confirming?.catch(() => undefined);
    await run.close();
  };
  return {
    ...run,
    // A call while another one is confirming gets the same promise: the answers are kept once.
    confirm: () => {
      if (run.given.isClosed) return Promise.reject(closedError(run.id));
      confirming ??= confirm(run)
        .catch((error: unknown) => {
          throw asClosed(run, error);
        })
        .finally(() => {
          confirming = undefined;
        });
      return confirming;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function confirm(run: ReadyRun): Promise<RunSummary> {
  const row = (await run.checkpoint.run(run.id))!;
  if (row.confirmed !== null) await removeUnneeded(run);
  else if (row.state === 'done') return endOfRun(run);
  else if (row.withheld !== null && releaseReason(judgedCounts(row.withheld), run.config.failures) === null) {
    throw await withheldError(run);
  } else await confirmRows(run);
  await pruneAfter(run);
  return endOfRun(run);
}
