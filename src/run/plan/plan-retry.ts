/** What a retry of a run would send and cost: shown, and checked against the budget, before the run is opened again. */
import type { CheckpointReader, Run } from '../../checkpoint/checkpoint.js';
import { eachChunk, eachSearch } from '../../checkpoint/walk-run.js';
import type { Config } from '../../config/schema.js';
import { GuardError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { countOf, formatAmount, formatCount } from '../../quantities.js';
import { priceOf } from '../../report/origins.js';
import { heldRecords } from '../../stages/submit/unreadable-replies.js';
import { type BudgetLeft, budgetLeft, stopsEarlyText } from '../check/check-new-run.js';

/** How failed records are asked for again: in files, or one by one. */
export type RetryWay = 'upload' | 'search';

/** What a retry would do. */
export interface RetryPlan {
  readonly run: string;
  readonly pipeline: string;
  readonly by: RetryWay;
  /** Failed records that it would send. By search: at most, because a record without a name is not searched. */
  readonly records: number;
  /** Failed records that have taken the answer of an earlier run: they are not asked for again. */
  readonly reused: number;
  /** Failed records that an earlier round has sent, and that the service may have accepted: they are not sent again. */
  readonly held: number;
  /** What the records cost; null without `budget.pricePerRecord`, 0 in a rehearsal. */
  readonly amount: number | null;
  readonly currency: string;
  readonly rehearsal: boolean;
  readonly budget: readonly BudgetLeft[];
}

type RetryReads = Pick<
  CheckpointReader,
  'answered' | 'attempts' | 'chunksIn' | 'pickedRecords' | 'searches' | 'spending' | 'tally'
>;

/**
 * Reads only the checkpoint.
 * @param run done or withheld, with its results.
 * @param now epoch milliseconds.
 */
export async function retryPlanOf(
  checkpoint: RetryReads,
  config: Pick<Config, 'ambiguous' | 'pipeline' | 'budget'>,
  run: Run,
  by: RetryWay,
  now: number,
): Promise<RetryPlan> {
  const { failed } = await checkpoint.answered(run.id);
  const { found, asked } = await searched(checkpoint, run.id);
  const isSearch = by === 'search';
  const held = isSearch ? new Set<number>() : await heldRecords(checkpoint, run.id, config.ambiguous);
  // One record may be among several of them.
  const notSent = new Set([...found, ...held, ...(await refused(checkpoint, run.id))]);
  const records = Math.max(failed - (isSearch ? asked : notSent.size), 0);
  const { pricePerRecord, currency } = config.budget;
  return {
    run: run.id,
    pipeline: run.pipeline,
    by,
    records,
    reused: (await checkpoint.tally(run.id)).counts.reused.failed,
    held: held.size,
    amount: priceOf(run.rehearsal ? 0 : records, pricePerRecord),
    currency,
    rehearsal: run.rehearsal,
    budget: await budgetLeft(checkpoint, config, run.service, run.id, now),
  };
}

function waitText(cap: BudgetLeft['cap']): string {
  if (cap === 'perRun') return '';
  return `, or wait for the next ${cap === 'perDay' ? 'day' : 'month'} (budget.timeZone)`;
}

/** How many searches may not be repeated, and the records that one has found: these are no longer FAILED. */
async function searched(
  checkpoint: RetryReads,
  run: string,
): Promise<{ readonly found: ReadonlySet<number>; readonly asked: number }> {
  const found = new Set<number>();
  let asked = 0;
  for await (const { record, state, values } of eachSearch(checkpoint, run)) {
    if (state !== 'dropped') asked += 1;
    if (state === 'answered' && values !== null) found.add(record);
  }
  return { found, asked };
}

/** Records that the service has refused alone: they are not sent again. */
async function refused(checkpoint: RetryReads, run: string): Promise<readonly number[]> {
  const numbers: number[] = [];
  for await (const { round, firstRecord } of eachChunk(checkpoint, run, ['refused'])) {
    if (round === 0) numbers.push(firstRecord);
  }
  return numbers;
}

/** Such as `sends 12 failed records once more, which costs 1.20 USD`. */
export function retryPlanText({ by, records, amount, currency, rehearsal }: RetryPlan): string {
  const what = countOf(records, 'failed record');
  const price =
    amount === null ? 'each is paid for again' : `which costs ${formatAmount(amount)} ${currency}`;
  const cost = rehearsal ? 'a rehearsal costs nothing' : price;
  return by === 'search'
    ? `searches at most ${what} one by one, ${cost}`
    : `sends ${what} once more, ${cost}`;
}

/**
 * Checks a retry against the budget, while the run is done and its output is in place.
 * @throws GuardError `BUDGET_TOO_SMALL` when it could never be finished under `budget.perRun`, or could not begin today.
 */
export function checkRetryBudget({ run, records, budget }: RetryPlan, logger: Logger): void {
  for (const { cap, limit, spent, left } of budget) {
    if (records <= left) continue;
    const facts = { run, cap, limit, spent, left, records };
    if (cap === 'perRun' || left === 0) {
      throw new GuardError(
        'BUDGET_TOO_SMALL',
        `budget.${cap} leaves ${formatCount(left)} of ${countOf(limit, 'record')}, and a retry of run ${run} has ${formatCount(records)} to send`,
        {
          hint: `nothing was sent, and the run is unchanged; raise budget.${cap}${waitText(cap)}, then type the same command again`,
          facts,
        },
      );
    }
    logger.warn(facts, stopsEarlyText('retry', { cap, left }, records));
  }
}
