/** The whole job in one call: reads a source and publishes its enriched output. Resumes an interrupted run. */
import {
  appendMerged,
  type Config,
  checkCall,
  isCompleted,
  type Job,
  type RunOptions,
  type RunSummary,
  startJob,
} from '../src/index.js';
import { answerFailed } from './answer-failed.js';
import { answerSource } from './answer-source.js';
import { loadAndEnd } from './end-of-run.js';
import { mergeAndPublish } from './merge-and-publish.js';
import { publishAgain } from './publish-again.js';
import { publishPartlyAtDeadline } from './publish-partly.js';
import { withLostRechecked } from './with-ready-run.js';

/**
 * Starts a run of `config`, or continues an interrupted one. A run that is done already costs nothing; if its output is
 * not in place, it is published again from the stored results.
 * @returns a job: its result is the summary of the run. Values of `exitCode`:
 *   - 0: none of the following.
 *   - 3: more records failed than are tolerated, or some are UNPROCESSED.
 *   - 8: a deadline was reached with `publishPartial`.
 *   - 9: the output is withheld for the reasons of 3 (`failures.onExceeded`).
 * @throws a subclass of FoliopipeError, with `exitCode`, `code`, `facts` and `hint`.
 */
export function enrich(config: Config, options: RunOptions = {}): Job<RunSummary> {
  return startJob(
    options,
    (given) => publishPartlyAtDeadline(config, given, (linked) => enrichWhole(config, linked)),
    () => checkCall('enrich', { config, options }),
  );
}

async function enrichWhole(config: Config, options: RunOptions): Promise<RunSummary> {
  return withLostRechecked(config, options, async (run) => {
    // A run that the caller has named may be done, too.
    if (isCompleted((await run.checkpoint.run(run.id))!)) return loadAndEnd(run, await publishAgain(run));
    await answerSource(run, appendMerged(run));
    await answerFailed(run);
    await mergeAndPublish(run);
    return loadAndEnd(run);
  });
}
