/** Opens a run as `withRun` does, once what an earlier one has left undone is settled. */
import {
  type Config,
  ConfigError,
  downloadParts,
  drain,
  findLost,
  hasLost,
  mayReopen,
  type OpenRun,
  openChunks,
  putInPlace,
  type RunOptions,
  runStages,
  supersede,
  trackFolios,
  withRun,
} from '../src/index.js';
import { pruneAfter } from './prune.js';

/** A run that can be worked on, or is done. */
type SettledRun = OpenRun & { readonly found: Exclude<OpenRun['found'], 'publishing' | 'outdated'> };

/**
 * An output whose publishing was interrupted is put in its place first; a run whose source has changed is
 * collected and superseded, where the config says so.
 */
export async function withSettledRun<T>(
  config: Config,
  options: RunOptions | undefined,
  body: (run: SettledRun) => Promise<T>,
): Promise<T> {
  const settled = await withRun(config, options, async (run) => {
    if (isSettled(run)) {
      const result = await body(run);
      await pruneAfter(run);
      return { result };
    }
    if (run.found === 'outdated') await collectOutdated(run);
    else {
      const row = await run.checkpoint.run(run.id);
      await putInPlace(run, row!.publication!);
    }
    return undefined;
  });
  return settled === undefined ? withSettledRun(config, options, body) : settled.result;
}

function isSettled(run: OpenRun): run is SettledRun {
  return run.found !== 'publishing' && run.found !== 'outdated';
}

// Ends a run whose source has changed: what the service still owes it is collected, then a newer run takes its place.

/**
 * Its source is not read. A folio that is not done within `poll.timeout` is left behind, and told.
 * @throws OutageError when the service cannot be asked: nothing is given up then.
 */
async function collectOutdated(run: OpenRun): Promise<void> {
  await runStages(run.controller, openChunks(run), trackFolios(run), downloadParts(run), drain);
  if (run.setbacks.first !== undefined) throw run.setbacks.first;
  const row = (await run.checkpoint.run(run.id))!;
  const { chunks } = await run.checkpoint.tally(run.id);
  const left = chunks.submitted + chunks.finished + chunks.ambiguous;
  await supersede(run.checkpoint, row, run.clock.now());
  run.logger.warn(
    { run: run.id, collected: chunks.downloaded, left },
    `run ${run.id} is superseded: its source has changed; the answers of ${chunks.downloaded} chunks are kept` +
      (left === 0 ? '' : `, ${left} chunks that were or may have been paid for were left behind`),
  );
}

// Work on a run whose lost folios are asked for once more before: what the service knows again is collected.

/**
 * As `withSettledRun`. Where nothing is lost, or the run is done and cannot be gone on with, the service is not asked.
 * @param body is told whether the run was done, and is open again because of an answer to come.
 */
export async function withLostAskedFor<T>(
  config: Config,
  options: RunOptions | undefined,
  body: (run: SettledRun, reopened: boolean) => Promise<T>,
): Promise<T> {
  const done = await withSettledRun(config, options, async (run) => {
    const reopened = await askForLost(run);
    // It is to be found anew, as one that is unfinished.
    return run.found === 'done' && reopened ? undefined : { result: await body(run, reopened) };
  });
  return done === undefined ? withSettledRun(config, options, (run) => body(run, true)) : done.result;
}

/** @returns whether a run that was done is open again. */
async function askForLost(run: OpenRun): Promise<boolean> {
  const { state, prunedAt } = (await run.checkpoint.run(run.id))!;
  if (run.found === 'new' || prunedAt !== null || !(await hasLost(run))) return false;
  if (state === 'done' && !(await mayReopen(run))) return false;
  return (await findLost(run)) > 0 && state === 'done';
}

// A pipeline has one unfinished run at most: a published one cannot be opened again beside it.

/**
 * @param verb what is to be done with the run.
 * @throws ConfigError `<VERB>_RUN_NOT_LAST`.
 */
export async function checkNoOtherOpen(run: OpenRun, verb: 'adopt' | 'retry'): Promise<void> {
  const unfinished = await run.checkpoint.unfinishedRun(run.config.pipeline);
  if (unfinished === undefined || unfinished.id === run.id) return;
  throw new ConfigError(
    `${verb.toUpperCase()}_RUN_NOT_LAST`,
    `run ${run.id} cannot be opened while run ${unfinished.id} is`,
    {
      hint: `finish run ${unfinished.id} with foliopipe run, then ${verb}`,
      facts: { run: run.id, unfinished: unfinished.id },
    },
  );
}
