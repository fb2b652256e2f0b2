/** Publishes a partial output at a deadline: unanswered records are UNPROCESSED, and a later run goes on. */
import {
  type Config,
  ConfigError,
  DeadlineError,
  hasAnswers,
  isCompleted,
  type JobEvent,
  mergePartly,
  publishPartly,
  type RunOptions,
  type RunSummary,
  runStages,
  withHandedRecords,
} from '../src/index.js';
import { loadAndEnd } from './end-of-run.js';
import { publishAgain } from './publish-again.js';
import { withReadyRun } from './with-ready-run.js';

/** Work on a run that a deadline may stop. */
type RunWork = (options: RunOptions) => Promise<RunSummary>;

/**
 * Does the work. If its deadline stops it and `options.publishPartial` is set, publishes what is done.
 * @returns the work's summary, or that of the partial publication, whose `exitCode` is 8.
 * @throws DeadlineError when the deadline came before there was a run or an answer, or without `publishPartial`;
 *   ConfigError
 *   `PARTIAL_WITHHELD` before anything is done.
 */
export function publishPartlyAtDeadline(
  config: Config,
  options: RunOptions,
  work: RunWork,
): Promise<RunSummary> {
  return withHandedRecords(options, (handed) => workUntilDeadline(config, handed, work));
}

async function workUntilDeadline(config: Config, handed: RunOptions, work: RunWork): Promise<RunSummary> {
  if (!handed.publishPartial) return work(handed);
  checkMayPublishPartly(config);
  let id: string | undefined;
  const { onProgress } = handed;
  const emit = (event: JobEvent) => {
    // A run whose source has changed is only collected, and gives no output.
    if (event.type === 'run') id = event.found === 'outdated' ? undefined : event.run;
    onProgress?.(event);
  };
  try {
    return await work({ ...handed, onProgress: Object.assign(emit, onProgress) });
  } catch (error) {
    if (!(error instanceof DeadlineError) || id === undefined) throw error;
    const { deadline: _, ...rest } = handed;
    return withReadyRun(config, { ...rest, existing: id, sendsNothing: true }, async (run) => {
      // If only the last step of publishing was missing, opening the run has finished it.
      if (isCompleted((await run.checkpoint.run(run.id))!)) return loadAndEnd(run, await publishAgain(run));
      if (!(await hasAnswers(run))) throw nothingAnswered(error);
      run.logger.warn(
        { run: run.id },
        `${error.message}: what is done is published, the rest is UNPROCESSED`,
      );
      const partial = await runStages(run.controller, () => mergePartly(run), publishPartly(run));
      return loadAndEnd(run, { partial });
    });
  }
}

/** An output without a single answer is worth less than the one that it would replace. */
function nothingAnswered({ message, hint, facts }: DeadlineError): DeadlineError {
  const why = `${message} before any record was answered: nothing is published, and an earlier output stays as it is`;
  return new DeadlineError('DEADLINE_REACHED', why, { ...(hint !== undefined && { hint }), facts });
}

/** A partial output always has UNPROCESSED records, so `failures.onExceeded: withhold` does not allow it. */
function checkMayPublishPartly({ failures }: Config): void {
  if (failures.onExceeded === 'publish') return;
  throw new ConfigError(
    'PARTIAL_WITHHELD',
    'a partial output has UNPROCESSED records, and failures.onExceeded: withhold publishes no output that has some',
    {
      hint: 'leave out --publish-partial: the run then stops at its deadline, and the last output stays; or, to publish what is done at the deadline, add --set failures.onExceeded=publish',
    },
  );
}
