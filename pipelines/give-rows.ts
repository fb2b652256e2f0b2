/**
 * A job whose rows go to a sink of the program instead of an output: everything that `enrich` does before it publishes.
 */
import {
  appendMerged,
  ConfigError,
  checkAllDownloaded,
  checkAllGiven,
  checkDoneSource,
  closedError,
  exceededReasons,
  FoliopipeError,
  GuardError,
  isCompleted,
  judgedCounts,
  type MergedStretch,
  mergeResults,
  type Run,
  releaseReason,
  runError,
  runStages,
  type SinkStage,
  withholdOutput,
} from '../src/index.js';
import { answerFailed } from './answer-failed.js';
import { answerSource } from './answer-source.js';
import { nothingToFetch } from './merge-and-publish.js';
import { prepareToMergeAgain } from './publish-again.js';
import { type ReadyRun, recheckLost } from './with-ready-run.js';

/**
 * Gives every row of the run, from the first record on, as the stretches are merged. With rounds or searches of failed
 * records, and with `result.onChange: add`, rows come only after everything is answered, because a later answer may
 * change them. A run that is done gives its rows again from what was bought.
 * @param sink takes stretch after stretch. When it returns early, nothing more is submitted.
 * @throws ConfigError `RUN_CLOSED`, `RUN_STOPPED`, `ROWS_TAKEN`; GuardError `ROWS_WITHHELD` after the last row, when
 *   too many records have failed and `failures.onExceeded` is `withhold`; TroubleError when rows are missing; the
 *   errors of `enrich`.
 */
export async function giveRows(run: ReadyRun, sink: SinkStage<MergedStretch, void>): Promise<void> {
  checkUsable(run);
  run.given.isTaking = true;
  try {
    const row = (await run.checkpoint.run(run.id))!;
    await (isCompleted(row) ? giveAgain(run, row, sink) : giveNew(run, sink));
  } catch (error) {
    throw asClosed(run, await runError(run, error));
  } finally {
    run.given.isTaking = false;
  }
}

async function giveNew(run: ReadyRun, sink: SinkStage<MergedStretch, void>): Promise<void> {
  if (run.found === 'continued') await recheckLost(run);
  if (await mayChangeLater(run)) {
    // These rows go into the work file: the program has not taken them.
    const toFile = { ...run, given: { ...run.given } };
    await answerSource(toFile, appendMerged(toFile));
    await answerFailed(run);
    await mergeAll(run, sink);
  } else {
    await answerSource(run, sink, { fromFirst: true });
  }
  await checkAllDownloaded(run);
  const { counts } = await checkAllGiven(run);
  if (await withholdOutput(run, counts)) throw await withheldError(run);
}

/** Gives the rows of a run that is done, or withheld. */
async function giveAgain(run: ReadyRun, row: Run, sink: SinkStage<MergedStretch, void>): Promise<void> {
  const { withheld } = row;
  if (withheld !== null && releaseReason(judgedCounts(withheld), run.config.failures) === null) {
    throw await withheldError(run);
  }
  const again = { ...run, source: await checkDoneSource(run, 'its rows are asked for again') };
  await prepareToMergeAgain(again, row);
  await mergeAll(again, sink);
  await checkAllDownloaded(again);
  await checkAllGiven(again);
}

function mergeAll(run: ReadyRun, sink: SinkStage<MergedStretch, void>): Promise<void> {
  return runStages(run.controller, nothingToFetch, mergeResults(run, { fromFirst: true }), sink);
}

/** Whether a later answer may change rows that were given, or add columns to them. */
async function mayChangeLater({ id, config, checkpoint }: ReadyRun): Promise<boolean> {
  const { failures, result } = config;
  if (failures.rounds > 0 || failures.rescue === 'search' || result.onChange === 'add') return true;
  const { round } = (await checkpoint.run(id))!;
  return round > 0 || (await checkpoint.lastRound(id)) > round;
}

/** Replaces the error of work on a run that the program has closed: the closed checkpoint would be reported otherwise. */
export function asClosed({ id, given }: Pick<ReadyRun, 'id' | 'given'>, error: unknown): unknown {
  return given.isClosed && !(error instanceof FoliopipeError) ? closedError(id) : error;
}

function checkUsable({ id, signal, given }: ReadyRun): void {
  if (given.isClosed) throw closedError(id);
  if (given.isTaking) {
    throw new ConfigError('ROWS_TAKEN', `the rows of run ${id} are being taken already`, {
      hint: 'read them in one loop; it may give each row to several places',
      facts: { run: id },
    });
  }
  if (!signal.aborted) return;
  if (signal.reason instanceof FoliopipeError) throw signal.reason;
  throw new ConfigError('RUN_STOPPED', `run ${id} was stopped, or its rows were left before their end`, {
    hint: 'close it and open it again: it goes on, pays nothing twice, and gives every row again',
    facts: { run: id },
  });
}

/** For a run that is withheld. */
export async function withheldError(run: ReadyRun): Promise<GuardError> {
  const { counts, origins, tolerate } = (await run.checkpoint.run(run.id))!.withheld!;
  const reasons = exceededReasons(judgedCounts({ counts, origins }), tolerate).join('; ');
  return new GuardError('ROWS_WITHHELD', `the rows of run ${run.id} must not be used: ${reasons}`, {
    hint: `undo what was done with them; to take them anyway, raise failures.tolerate or set failures.onExceeded: publish, and open the run again; foliopipe publish ${run.id} writes them into a file`,
    facts: { run: run.id, failed: counts.failed, unprocessed: counts.unprocessed },
  });
}
