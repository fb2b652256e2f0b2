/** The budget as part of the check before paying (law 5): what is left of it, and what a new run needs. */
import { isDeepStrictEqual } from 'node:util';
import type { CheckpointReader } from '../checkpoint/checkpoint.js';
import { budgetAt } from '../config/calendar.js';
import type { Config } from '../config/schema.js';
import { GuardError } from '../errors.js';
import type { Logger } from '../logger.js';
import type { Source } from '../types.js';

/** One cap of the budget, in records. */
export interface BudgetLeft {
  readonly cap: 'perRun' | 'perDay' | 'perMonth';
  readonly limit: number;
  /** Paid for, or possibly paid for. */
  readonly spent: number;
  readonly left: number;
}

/**
 * The caps that are set.
 * @param run the run that would go on; without one a new run's.
 * @param at epoch milliseconds.
 */
export async function budgetLeft(
  checkpoint: Pick<CheckpointReader, 'spending'> | undefined,
  config: Pick<Config, 'pipeline' | 'budget'>,
  run: string | null,
  at: number,
): Promise<readonly BudgetLeft[]> {
  const { day, perRun, perDay, perMonth } = budgetAt(config.budget, at);
  const spent = await checkpoint?.spending(config.pipeline, run, day);
  const caps = [
    { cap: 'perRun', limit: perRun, spent: spent?.run ?? 0 },
    { cap: 'perDay', limit: perDay, spent: spent?.day ?? 0 },
    { cap: 'perMonth', limit: perMonth, spent: spent?.month ?? 0 },
  ] as const;
  return caps.flatMap(({ cap, limit, spent: so }) =>
    limit === null ? [] : [{ cap, limit, spent: so, left: Math.max(limit - so, 0) }],
  );
}

/**
 * Holds a new run to what is left. A day or a month that is too small is only told: the run stops there and
 * goes on another time.
 * @param records that the run would send.
 * @throws GuardError `BUDGET_TOO_SMALL` when the run could never be finished under `budget.perRun`.
 */
export function holdToBudget(caps: readonly BudgetLeft[], records: number, logger: Logger): void {
  for (const { cap, limit, spent, left } of caps) {
    if (records <= left) continue;
    if (cap === 'perRun') {
      throw new GuardError(
        'BUDGET_TOO_SMALL',
        `budget.perRun is ${limit} records, and the source has ${records} to send`,
        {
          hint: 'nothing was sent; raise budget.perRun, or make the source smaller',
          facts: { cap, limit, records },
        },
      );
    }
    logger.warn(
      { cap, limit, spent, left, records },
      `budget.${cap} leaves ${left} of the ${records} records to send: the run stops there with exit 9, and the same command goes on when there is more`,
    );
  }
}

// How many records a new run sends ahead, alone (`chunks.canary`).

/**
 * With `auto`: some on the pipeline's first run on this service, and where the source's header is not that of the
 * last run that was done; else none.
 * @param reader undefined where there is no state yet.
 */
export async function canaryRecords(
  { pipeline, chunks: { canary } }: Pick<Config, 'pipeline' | 'chunks'>,
  service: string,
  source: Pick<Source, 'columns'>,
  reader: Pick<CheckpointReader, 'runs'> | undefined,
): Promise<number> {
  if (canary !== 'auto') return canary;
  const runs = (await reader?.runs(pipeline)) ?? [];
  const before = runs.find((run) => run.service === service && run.state === 'done');
  const isKnown = before !== undefined && isDeepStrictEqual(before.source.columns, source.columns);
  return isKnown ? 0 : automaticCanary;
}

const automaticCanary = 200;
