/** The second half of a job: waits for the folios of a submitted run, fetches their parts and publishes. */
import {
  appendMerged,
  type Config,
  checkAllMerged,
  checkCall,
  downloadParts,
  type Job,
  mergeResults,
  openChunks,
  type RunOptions,
  type RunSummary,
  runStages,
  StillProcessingError,
  startJob,
  trackFolios,
} from '../src/index.js';
import { closeBegunRounds } from './answer-failed.js';
import { loadAndEnd } from './end-of-run.js';
import { fetchFinished } from './fetch-finished.js';
import { mergeAndPublish } from './merge-and-publish.js';
import { publishAgain } from './publish-again.js';
import { publishPartlyAtDeadline } from './publish-partly.js';
import { withLostRechecked } from './with-ready-run.js';

/** The options of `collect`. */
export interface CollectOptions extends RunOptions {
  /** `false` asks for each folio once and throws `StillProcessingError` when one is not finished. Default: `true`. */
  readonly wait?: boolean | undefined;
}

/**
 * Uploads nothing. If the run is done and its output is not in place, publishes it again.
 * @throws ConfigError when there is no run to collect; TroubleError `ROUND_UNFINISHED` when a round of failed records
 *   is not completely sent. With `wait: false` also StillProcessingError; OutageError when the service could not be
 *   asked about a folio; TroubleError `FOLIO_NOT_FOUND` when the service did not know a folio.
 */
export function collect(config: Config, options: CollectOptions = {}): Job<RunSummary> {
  return startJob(
    options,
    ({ wait = true, ...given }) =>
      publishPartlyAtDeadline(config, given, (linked) => collectAll(config, linked, wait)),
    () => checkCall('collect', { config, options }),
  );
}

async function collectAll(config: Config, options: RunOptions, wait: boolean): Promise<RunSummary> {
  return withLostRechecked(config, { ...options, existing: true, sendsNothing: true }, async (run) => {
    if (run.found === 'done') return loadAndEnd(run, await publishAgain(run));
    const deferred = await fetchFinished(run);
    if (!wait) {
      if (deferred !== undefined) throw deferred;
      const { chunks } = await run.checkpoint.tally(run.id);
      const open = chunks.submitted + chunks.finished;
      if (open > 0) {
        throw new StillProcessingError(
          'STILL_PROCESSING',
          `run ${run.id}: ${open} ${open === 1 ? 'folio is' : 'folios are'} still processing`,
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
      mergeResults(run),
      appendMerged(run),
    );
    await checkAllMerged(run);
    await closeBegunRounds(run);
    await mergeAndPublish(run);
    return loadAndEnd(run);
  });
}
