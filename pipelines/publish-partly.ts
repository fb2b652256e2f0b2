/** Publishes what there is when a deadline has come: the rest is UNPROCESSED, and the run goes on another time. */
import {
  type Config,
  DeadlineError,
  mergePartly,
  publishPartly,
  type RunOptions,
  type RunSummary,
  runStages,
  summarizeRun,
} from '../src/index.js';
import { publishAgain } from './publish-again.js';
import { withSettledRun } from './with-settled-run.js';

/** Work on a run that may be cut short. */
export type RunWork = (options: RunOptions) => Promise<RunSummary>;

/**
 * Does the work; where its deadline comes and `options.publishPartial` is set, publishes what is done instead.
 * @returns the work's summary, or that of the partial publication, whose `exitCode` is 8.
 * @throws DeadlineError when it came before there was a run, or nothing is to be published.
 */
export async function orPublishPartly(
  config: Config,
  options: RunOptions,
  work: RunWork,
): Promise<RunSummary> {
  let id: string | undefined;
  const onRun = (run: string) => {
    id = run;
    options.onRun?.(run);
  };
  try {
    return await work({ ...options, onRun });
  } catch (error) {
    if (!(error instanceof DeadlineError) || !options.publishPartial || id === undefined) throw error;
    const { deadline: _, ...rest } = options;
    return withSettledRun(config, { ...rest, existing: id }, async (run) => {
      // It may have been done but for the last step, which is made by now.
      const { state } = (await run.checkpoint.run(run.id))!;
      if (state === 'done') {
        const publishedAgain = await publishAgain(run);
        return summarizeRun(run, run.id, 'done', { publishedAgain });
      }
      run.logger.warn(
        { run: run.id },
        `${error.message}: what is done is published, the rest is UNPROCESSED`,
      );
      const publication = await runStages(run.controller, () => mergePartly(run), publishPartly(run));
      return summarizeRun(run, run.id, run.found, { cutShort: publication });
    });
  }
}
