/** Asks again for the failed records of a run that is published or withheld, and publishes the new output. */
import {
  type CheckpointReader,
  type Config,
  ConfigError,
  checkCall,
  checkPublished,
  checkRetryBudget,
  hasWorkFile,
  isAllMerged,
  isCompleted,
  isRoundCut,
  isSourceAnswered,
  type Job,
  mayRescue,
  type OpenRun,
  presentTexts,
  prunedError,
  type RetryPlan,
  type RetryWay,
  type Run,
  type RunOptions,
  type RunSummary,
  refuseUnconfirmed,
  removeUnneeded,
  rescueFailed,
  rescueProblems,
  retryPlanOf,
  retryPlanText,
  startJob,
  systemClock,
  withNamedRun,
} from '../src/index.js';
import { finishBegunRounds, sendRound } from './answer-failed.js';
import { endOfRun } from './end-of-run.js';
import { fetchFinished } from './fetch-finished.js';
import { mergeAndPublish } from './merge-and-publish.js';
import { publishAgain } from './publish-again.js';
import { checkNoOtherOpen, withLostRechecked } from './with-ready-run.js';

/** The options of `retry`. */
export interface RetryOptions extends RunOptions {
  /** One round of uploads, or single-record searches. Default: `search` if `failures.rescue` is, else `upload`. */
  readonly by?: RetryWay | undefined;
}

/** The options of `planRetry`. */
export interface PlanRetryOptions extends Pick<RetryOptions, 'by' | 'clock'> {
  /** Default: the one of the config, which is opened read-only. */
  readonly checkpoint?: CheckpointReader | undefined;
}

/**
 * Says what a retry would send and cost. Only reads the checkpoint: takes no lock, changes nothing, and asks no service.
 * @param id names a run of the config's pipeline (see `namedRun`).
 * @throws ConfigError `STATE_MISSING`, `RUN_UNKNOWN`, `RUN_UNFINISHED`, `RETRY_CONFIRMED`, `RETRY_RUN_NOT_LAST`,
 *   `RESCUE_UNKNOWN`;
 *   GuardError `RUN_PRUNED`.
 */
export async function planRetry(
  config: Config,
  id: string,
  options: PlanRetryOptions = {},
): Promise<RetryPlan> {
  checkCall('planRetry', { config, run: id, options });
  const { by = defaultWay(config), checkpoint, clock = systemClock } = options;
  return withNamedRun(config, id, checkpoint, async (state, run) => {
    if (by === 'search') checkRescue(config);
    if (run.confirmed !== null) throw confirmedError(run.id);
    if (run.state !== 'done' && run.state !== 'withheld') throw unfinishedError(run.id);
    if (run.prunedAt !== null) throw prunedError(run, 'a retry needs them');
    await checkNoOtherOpen({ id: run.id, checkpoint: state, config, source: run.source }, 'retry');
    return retryPlanOf(state, config, run, by, clock.now());
  });
}

function defaultWay({ failures }: Config): RetryWay {
  return failures.rescue === 'search' ? 'search' : 'upload';
}

/**
 * Continues an interrupted retry, as `enrich` also does. If no record has failed, nothing is paid, and an output in
 * place stays unchanged. The new output replaces one that is missing, or that this pipeline has published; it never
 * replaces one that something else has changed.
 * @param id a run of the config's pipeline; its source must be unchanged.
 * @throws ConfigError `RUN_UNKNOWN`, `RUN_UNFINISHED`, `RETRY_CONFIRMED`, `OUTPUT_CHANGED`, `RETRY_RUN_NOT_LAST`,
 *   `RESCUE_UNKNOWN`;
 *   GuardError `RUN_PRUNED`, `RESTORED_UNCONFIRMED`.
 */
export function retry(config: Config, id: string, options: RetryOptions = {}): Job<RunSummary> {
  return startJob(
    { ...options, existing: id },
    ({ by = defaultWay(config), ...given }) => retryRun(config, by, given),
    () => checkCall('retry', { config, run: id, options }),
  );
}

async function retryRun(config: Config, by: RetryWay, options: RunOptions): Promise<RunSummary> {
  if (by === 'search') checkRescue(config);
  // A retry does not take `yes` for this question: `foliopipe run` does.
  await refuseUnconfirmed(config, {});
  return withLostRechecked(config, options, async (run, reopened, published) => {
    const row = (await run.checkpoint.run(run.id))!;
    if (row.confirmed !== null) throw confirmedError(run.id);
    // The last round may be the one that this command had to send: a kill may have come after it was settled.
    const wasKilled = published || (row.state === 'withheld' && (await hasWorkFile(run)));
    const isRoundSent = wasKilled && by === 'upload' && row.round > 0;
    let isReopened = reopened && !isRoundSent;
    if (isCompleted(row)) {
      if (isRoundSent) {
        if (row.state === 'withheld') await removeUnneeded(run);
        run.logger.info(
          { run: run.id, round: row.round },
          `the interrupted run is ${row.state === 'withheld' ? 'withheld' : 'published'}, and nothing more is sent; to send the failed records again: foliopipe retry ${run.id}`,
        );
        return endOfRun(run);
      }
      await checkNoOtherOpen(run, 'retry');
      // After a kill, an old work file would look like a retry that has begun.
      if (row.state === 'withheld') await removeUnneeded(run);
      else await checkPublished(run, row);
      const isIdle = by === 'search' ? !(await mayRescue(run)) : await isRoundCut(run, row.round + 1);
      if (isIdle) {
        const { reused, held } = await retryPlanOf(run.checkpoint, run.config, row, by, run.clock.now());
        const also = presentTexts([
          reused > 0 &&
            `; ${reused} more of its rows failed on earlier nights; to ask for them again, which is paid: foliopipe run --new --set reuse.failedAge=0`,
          held > 0 &&
            `; the service may have ${held} more from an earlier round; how to bind its folio: foliopipe status --run ${run.id}`,
        ]);
        run.logger.info(
          { run: run.id, by, reused, held },
          `run ${run.id} has no failed record of its own to ask for again: nothing is sent${also.join('')}`,
        );
        return endOfRun(run, await publishAgain(run));
      }
      await sayWhatIsSent(run, row, by);
      await run.checkpoint.recordReopened(run.id);
      run.at('after-reopened-before-retry');
      isReopened = true;
    } else {
      await fetchFinished(run);
      if (!(await isSourceAnswered(run))) throw unfinishedError(run.id);
    }
    isReopened ||= await isAsPublished(run);
    const wasBegun = await finishBegunRounds(run);
    if (by === 'upload' && !wasBegun) {
      if (isReopened) await sendRound(run);
      else sayNothingSent(run);
    }
    if (by === 'search') await rescueFailed(run);
    await mergeAndPublish(run);
    return endOfRun(run);
  });
}

/** Logs what a retry sends, and checks the budget before anything is paid. @throws GuardError `BUDGET_TOO_SMALL`. */
async function sayWhatIsSent(run: OpenRun, row: Run, by: RetryWay): Promise<void> {
  const plan = await retryPlanOf(run.checkpoint, run.config, row, by, run.clock.now());
  checkRetryBudget(plan, run.logger);
  const { records, amount } = plan;
  run.logger.info({ run: run.id, by, records, amount }, `run ${run.id}: retry ${retryPlanText(plan)}`);
}

/** An interrupted run may be one whose round is over, so it is only published: a second round would be paid as well. */
function sayNothingSent({ id, logger }: OpenRun): void {
  logger.info(
    { run: id },
    `run ${id} was interrupted: its output is only put in place, and nothing more is sent; to send failed records again after that: foliopipe retry ${id}`,
  );
}

/** Whether no work was done since the run was opened again: every chunk is merged, and there is no work file. */
async function isAsPublished(run: OpenRun): Promise<boolean> {
  return !(await hasWorkFile(run)) && (await isAllMerged(run));
}

function unfinishedError(run: string): ConfigError {
  return new ConfigError('RUN_UNFINISHED', `run ${run} is not done yet, so it cannot be retried`, {
    hint: 'finish it with: foliopipe run; then type foliopipe retry again',
    facts: { run },
  });
}

/** The rows of the run went to a program, which would never see the new answers. */
function confirmedError(run: string): ConfigError {
  return new ConfigError('RETRY_CONFIRMED', `a program has taken the rows of run ${run} and confirmed them`, {
    hint: 'let the program ask again: openRun with the same source, fresh: true and reuse.failedAge: 0 pays only for the failed records if reuse.maxAge keeps the other answers; failures.rounds asks again before the rows are given. For a file of this run: foliopipe publish RUN, then retry',
    facts: { run },
  });
}

function checkRescue(config: Config): void {
  const problems = rescueProblems(config);
  if (problems.length === 0) return;
  const lines = problems.map(({ key, text }) => `\n  ${key}: ${text}`);
  throw new ConfigError(
    'RESCUE_UNKNOWN',
    `failed records cannot be searched with this config:${lines.join('')}`,
    {
      hint: 'add what is named, or send them again with: foliopipe retry RUN --by upload',
    },
  );
}
