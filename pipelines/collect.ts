/** The second half of a job: waits for the folios of a submitted run, fetches their parts and publishes. */
import {
  appendMerged,
  type Config,
  checkAllMerged,
  downloadParts,
  mergeResults,
  openChunks,
  type RunOptions,
  type RunSummary,
  refetchParts,
  runStages,
  StillProcessingError,
  summarizeRun,
  trackFolios,
} from '../src/index.js';
import { closeBegunRounds } from './answer-failed.js';
import { fetchFinished } from './fetch-finished.js';
import { mergeAndPublish } from './merge-and-publish.js';
import { publishAgain } from './publish-again.js';
import { orPublishPartly } from './publish-partly.js';
import { withLostAskedFor } from './with-settled-run.js';

export interface CollectOptions extends RunOptions {
  /** Ask each folio once and throw `StillProcessingError` when one is not finished. */
  readonly wait?: boolean;
}

/**
 * Uploads nothing. A run that is done is published again where its output is not in place.
 * @throws ConfigError when there is no run to collect; TroubleError `ROUND_UNFINISHED` when failed records have begun
 *   to go out again and not all of them are sent. With `wait: false`: StillProcessingError, OutageError where a
 *   folio could not be asked for, or TroubleError `FOLIO_NOT_FOUND` where it is not known just now.
 */
export async function collect(config: Config, options: CollectOptions = {}): Promise<RunSummary> {
  const { wait = true, ...rest } = options;
  return orPublishPartly(config, rest, (linked) => collectAll(config, linked, wait));
}

async function collectAll(config: Config, options: RunOptions, wait: boolean): Promise<RunSummary> {
  return withLostAskedFor(config, { ...options, existing: true }, async (run) => {
    if (run.found === 'done') {
      const publishedAgain = await publishAgain(run);
      return summarizeRun(run, run.id, run.found, { publishedAgain });
    }
    const setback = await fetchFinished(run);
    if (!wait) {
      if (setback !== undefined) throw setback;
      const { chunks } = await run.checkpoint.tally(run.id);
      const open = chunks.submitted + chunks.finished;
      if (open > 0) {
        throw new StillProcessingError(
          'STILL_PROCESSING',
          `run ${run.id}: ${open} folios are still processing`,
          {
            hint: 'foliopipe collect --no-wait asks again; without --no-wait it waits',
            facts: { run: run.id, open },
          },
        );
      }
    }
    await runStages(
      run.controller,
      openChunks(run),
      trackFolios(run),
      downloadParts(run),
      mergeResults(run, (chunk) => refetchParts(run, chunk)),
      appendMerged(run),
    );
    await checkAllMerged(run);
    await closeBegunRounds(run);
    await mergeAndPublish(run, (chunk) => refetchParts(run, chunk));
    return summarizeRun(run, run.id, run.found);
  });
}
