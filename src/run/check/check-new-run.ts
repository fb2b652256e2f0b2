/**
 * What a new run must pass before it pays: the remaining budget, the base of its delta; and the canary that is sent
 * first.
 */
import { isDeepStrictEqual } from 'node:util';
import type { CheckpointReader, Run } from '../../checkpoint/checkpoint.js';
import type { Config } from '../../config/schema.js';
import { budgetAt } from '../../config/sections/calendar.js';
import { ConfigError, GuardError, reworded } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { countOf, formatCount } from '../../quantities.js';
import { checkDeltaBase } from '../../stages/publish/write-delta.js';
import type { Source } from '../../types.js';
import { isRehearsalElsewhere } from '../configured-service.js';

/** One cap of the budget, in records. */
export interface BudgetLeft {
  readonly cap: 'perRun' | 'perDay' | 'perMonth';
  readonly limit: number;
  /** Records that were, or may have been, paid for. */
  readonly spent: number;
  readonly left: number;
}

/**
 * The configured caps, and how many records are left of each.
 * @param service the identity of the service.
 * @param run the run that would go on; null for a new run.
 * @param at epoch milliseconds.
 */
export async function budgetLeft(
  checkpoint: Pick<CheckpointReader, 'spending'> | undefined,
  config: Pick<Config, 'pipeline' | 'budget'>,
  service: string,
  run: string | null,
  at: number,
): Promise<readonly BudgetLeft[]> {
  const { day, perRun, perDay, perMonth } = budgetAt(config.budget, at);
  const spent = await checkpoint?.spending(config.pipeline, run, day, service);
  const caps = [
    { cap: 'perRun', limit: perRun, spent: spent?.run ?? 0 },
    { cap: 'perDay', limit: perDay, spent: spent?.day ?? 0 },
    { cap: 'perMonth', limit: perMonth, spent: spent?.month ?? 0 },
  ] as const;
  return caps.flatMap(({ cap, limit, spent: used }) =>
    limit === null ? [] : [{ cap, limit, spent: used, left: Math.max(limit - used, 0) }],
  );
}

/**
 * Checks a new run against the budget. If the budget of the day or the month is too small, this is only logged: the run
 * stops there and goes on another day. How many records a chunk has is known only when it is cut.
 * @param records how many records the run would send.
 * @param maxRecords how many a chunk has at most.
 * @throws GuardError `BUDGET_TOO_SMALL` when the run could never be finished under `budget.perRun`.
 */
export function checkBudget(
  caps: readonly BudgetLeft[],
  records: number,
  maxRecords: number,
  logger: Logger,
): void {
  for (const { cap, limit, spent, left } of caps) {
    if (records <= left) continue;
    if (cap === 'perRun') {
      throw new GuardError(
        'BUDGET_TOO_SMALL',
        `budget.perRun is ${countOf(limit, 'record')}, and the run has ${formatCount(records)} to send`,
        {
          hint: 'nothing was sent; raise budget.perRun, or make the source smaller',
          facts: { cap, limit, records },
        },
      );
    }
    logger.warn({ cap, limit, spent, left, records }, stopsEarlyText('run', { cap, left }, records));
    if (Math.min(records, maxRecords) <= limit) continue;
    logger.warn(
      { cap, limit, maxRecords },
      `budget.${cap} is below chunks.maxRecords (${formatCount(maxRecords)}): a chunk of more than ${countOf(limit, 'record')} is never sent; raise budget.${cap}, or begin again with --new --set chunks.maxRecords=${limit}`,
    );
  }
}

/**
 * What a cap leaves of what is to be sent.
 * @param what sends the records.
 */
export function stopsEarlyText(
  what: 'run' | 'retry',
  { cap, left }: Pick<BudgetLeft, 'cap' | 'left'>,
  records: number,
): string {
  const sent = left === 0 ? 'nothing' : `at most ${formatCount(left)}, because only whole chunks are sent,`;
  return `budget.${cap} leaves ${formatCount(left)} of the ${countOf(records, 'record')} to send: the ${what} sends ${sent} and ends with exit 9; the same command goes on when the cap allows more`;
}

/**
 * How many records a new run sends alone, before the rest (`chunks.canary`). `auto` means 200 if the pipeline has no
 * done run on this service, or if the header of the source differs from that of the last done run; else 0. Samples are
 * no such runs, nor are rehearsals with a local service that had the name of this one.
 * @param reader undefined if there is no state yet.
 */
export async function canaryRecords(
  config: Pick<Config, 'pipeline' | 'chunks' | 'service' | 'stateDir'>,
  service: string,
  source: Pick<Source, 'columns'>,
  reader: Pick<CheckpointReader, 'runs'> | undefined,
): Promise<number> {
  const { canary } = config.chunks;
  if (canary !== 'auto') return canary;
  const runs = (await reader?.runs(config.pipeline)) ?? [];
  const nights = runs.filter((run) => run.source.limit === undefined);
  const isOfService = (run: Run) => run.service === service && !isRehearsalElsewhere(config, run);
  const before = nights.find((run) => isOfService(run) && run.state === 'done');
  const isKnown = before !== undefined && isDeepStrictEqual(before.source.columns, source.columns);
  return isKnown ? 0 : automaticCanary;
}

const automaticCanary = 200;

/**
 * Checks that the delta of a new run will have its base.
 * @throws ConfigError `DELTA_BASE_LOST`, `DELTA_BASE_DAMAGED`.
 */
export async function checkDelta(run: Parameters<typeof checkDeltaBase>[0]): Promise<void> {
  await checkDeltaBase(run).catch((error: unknown) => {
    throw error instanceof ConfigError ? reworded(error, { hint: WITHOUT_BASE }) : error;
  });
}

const WITHOUT_BASE =
  'nothing was sent; put the folder deltas/ of the state back (of a state in a database: restore that); or begin anew: foliopipe run --set output.delta=false, and then run the same command again: its delta has no base and holds every row';
