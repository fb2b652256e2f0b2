/** The budget: reserved before a paid request, refunded when the request was not accepted. Unit: records. */
import type { Query } from '../../postgres/session.js';
import { type Prepared, statement } from '../../postgres/statement.js';
import type { CheckpointReader, SpentOnDay } from '../checkpoint.js';
import { AFTER_ALL_DAYS, hasCaps, NO_RUN, type Payer, refuseAboveCaps } from '../rows/caps.js';
import type { Budget, Spending } from '../state.js';
import type { StateSession } from './state-session.js';

/**
 * The part of a statement that adds to what a pipeline has spent.
 * @param rows a `SELECT` of pipeline, day, run and records.
 */
export const spend = (rows: string) => `
  INSERT INTO spending (pipeline, day, run, records) ${rows}
  ON CONFLICT (pipeline, day, run) DO UPDATE SET records = spending.records + excluded.records`;

const add = statement(spend('VALUES (@pipeline, @day, @run, @records)'));

const sums: Prepared<Spending> = statement(`
  SELECT
    (SELECT coalesce(sum(records), 0)::int8 FROM spending WHERE run = @run) AS run,
    (SELECT coalesce(sum(records), 0)::int8 FROM spending WHERE pipeline = @pipeline AND day = @day) AS day,
    (SELECT coalesce(sum(records), 0)::int8 FROM spending
      WHERE pipeline = @pipeline AND day BETWEEN @month AND @afterMonth) AS month`);

const pipelineOf: Prepared<{ pipeline: string }> = statement('SELECT pipeline FROM runs WHERE id = @run');

// A search that belongs to no run takes no lease. So whoever compares with a cap waits for the others.
const waitForOthers = statement(
  "SELECT pg_advisory_xact_lock(hashtext('foliopipe budget'), hashtext(@pipeline))",
);

/**
 * Compares with the caps, within the transaction that then reserves the records.
 * @throws GuardError `BUDGET_REACHED` when a cap would be exceeded.
 */
export async function refuseOverBudget(
  query: Query,
  payer: Payer,
  records: number,
  budget: Budget,
): Promise<void> {
  if (!hasCaps(budget)) return;
  const { pipeline, run } = await rowOf(query, payer);
  await query(waitForOthers, { pipeline });
  const [before] = await query(sums, sumValues(pipeline, run, budget.day));
  refuseAboveCaps(budget, run, before!, records);
}

/** Adds to what the payer has spent on the day; subtracts if the records are negative. */
export async function spendRecords(query: Query, payer: Payer, records: number, day: string): Promise<void> {
  await query(add, { ...(await rowOf(query, payer)), day, records });
}

async function rowOf(query: Query, payer: Payer): Promise<{ pipeline: string; run: string }> {
  if ('pipeline' in payer) return { pipeline: payer.pipeline, run: NO_RUN };
  const [row] = await query(pipelineOf, { run: payer.run });
  return { pipeline: row!.pipeline, run: payer.run };
}

function sumValues(pipeline: string, run: string, day: string) {
  const month = day.slice(0, 7);
  return { pipeline, run, day, month, afterMonth: month + AFTER_ALL_DAYS };
}

const byDay: Prepared<SpentOnDay> = statement(`
  SELECT day, sum(records)::int8 AS records FROM (
    SELECT day, records FROM spending
    WHERE pipeline = @pipeline AND day >= @day
      AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = spending.run AND runs.rehearsal = 1)
    UNION ALL
    SELECT day, -1 FROM single_searches WHERE pipeline = @pipeline AND day >= @day AND local = 1) AS spent
  GROUP BY day HAVING sum(records) > 0 ORDER BY day COLLATE "C"`);

/** Makes `spending` and `spendingByDay`. */
export function spendingReads(db: StateSession): Pick<CheckpointReader, 'spending' | 'spendingByDay'> {
  return {
    spending: async (pipeline, run, day) => {
      const [row] = await db.read(sums, sumValues(pipeline, run ?? NO_RUN, day));
      return { ...row!, run: run === null ? 0 : row!.run };
    },
    spendingByDay: (pipeline, day) => db.read(byDay, { pipeline, day }),
  };
}
