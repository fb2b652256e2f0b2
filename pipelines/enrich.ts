/** The whole night's job in one call: a source in, an enriched output out, resumed where it was interrupted. */
import {
  appendMerged,
  type Config,
  chunkRecords,
  downloadParts,
  mergeResults,
  type RunOptions,
  type RunSummary,
  refetchParts,
  runStages,
  submitChunks,
  summarizeRun,
  trackFolios,
} from '../src/index.js';
import { answerFailed } from './answer-failed.js';
import { fetchFinished } from './fetch-finished.js';
import { mergeAndPublish } from './merge-and-publish.js';
import { publishAgain } from './publish-again.js';
import { orPublishPartly } from './publish-partly.js';
import { tryCanary } from './try-canary.js';
import { withLostAskedFor } from './with-settled-run.js';

/**
 * Starts a run of `config`, or goes on with the one that was interrupted; a run that is done already costs nothing,
 * and is published again from what was bought where its output is not in place.
 * @returns what the run has come to; `exitCode` is 0, or 3 where records failed beyond what is tolerated, or 8
 *   where a deadline came and `publishPartial` is set.
 * @throws FoliopipeError of one of its subclasses, each with `exitCode`, `code`, `facts` and `hint`.
 */
export async function enrich(config: Config, options: RunOptions = {}): Promise<RunSummary> {
  return orPublishPartly(config, options, (linked) => enrichWhole(config, linked));
}

async function enrichWhole(config: Config, options: RunOptions): Promise<RunSummary> {
  return withLostAskedFor(config, options, async (run) => {
    if (run.found === 'continued') {
      await fetchFinished(run);
    }
    if (run.found !== 'done') {
      await tryCanary(run);
      await runStages(
        run.controller,
        chunkRecords(run),
        submitChunks(run, (chunk) => refetchParts(run, chunk)),
        trackFolios(run),
        downloadParts(run),
        mergeResults(run, (chunk) => refetchParts(run, chunk)),
        appendMerged(run),
      );
      await answerFailed(run);
      await mergeAndPublish(run, (chunk) => refetchParts(run, chunk));
    }
    const publishedAgain = run.found === 'done' ? await publishAgain(run) : null;
    return summarizeRun(run, run.id, run.found, { publishedAgain });
  });
}
