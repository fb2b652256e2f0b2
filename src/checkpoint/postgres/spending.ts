/**
 * The budget: reserved before a paid request, refunded when the request was not accepted. Unit: records. The caps of a
 * day and of a month apply to the sum of all pipelines of an account, plus what the pipeline has spent at other
 * services.
 */
import type { Query } from '../../postgres/session.js';
import { type Prepared, statement } from '../../postgres/statement.js';
import type { CheckpointReader } from '../checkpoint.js';
import { AFTER_ALL_DAYS, hasCaps, NO_RUN, refuseAboveCaps } from '../rows/paid-rows.js';
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

// Searches that belong to no run have no service in `spending`.
const spentWhere = (days: string) => `(
  (SELECT coalesce(sum(records), 0) FROM spending LEFT JOIN runs ON runs.id = spending.run
    WHERE spending.${days} AND (spending.pipeline = @pipeline OR runs.service = @service::text))
  + (SELECT count(*) FROM single_searches
    WHERE service = @service::text AND pipeline <> @pipeline AND ${days} AND state <> 'dropped'))::int8`;

const sums: Prepared<Spending> = statement(`
  SELECT
    (SELECT coalesce(sum(records), 0)::int8 FROM spending WHERE run = @run) AS run,
    ${spentWhere('day = @day')} AS day,
    ${spentWhere('day BETWEEN @month AND @afterMonth')} AS month`);

const payerOf: Prepared<{ pipeline: string; service: string }> = statement(
  'SELECT pipeline, service FROM runs WHERE id = @run',
);

// A search that belongs to no run takes no lease. So comparisons with a cap wait for each other.
const waitForOthers = statement(
  "SELECT pg_advisory_xact_lock(hashtext('foliopipe budget'), hashtext(@service))",
);

/** A run; or, for a search that belongs to no run, its pipeline and service. */
type SharedPayer = { readonly run: string } | { readonly pipeline: string; readonly service: string };

/**
 * Compares with the caps, within the transaction that then reserves the records.
 * @throws GuardError `BUDGET_REACHED` when a cap would be exceeded.
 */
export async function refuseOverBudget(
  query: Query,
  payer: SharedPayer,
  records: number,
  budget: Budget,
): Promise<void> {
  if (!hasCaps(budget)) return;
  const { pipeline, run, service } = await rowOf(query, payer);
  await query(waitForOthers, { service });
  const [before] = await query(sums, sumValues(pipeline, run, budget.day, service));
  refuseAboveCaps(budget, run, before!, records);
}

/** Adds to what the payer has spent on the day; subtracts if the records are negative. */
export async function spendRecords(
  query: Query,
  payer: SharedPayer,
  records: number,
  day: string,
): Promise<void> {
  const { pipeline, run } = await rowOf(query, payer);
  await query(add, { pipeline, run, day, records });
}

async function rowOf(
  query: Query,
  payer: SharedPayer,
): Promise<{ pipeline: string; service: string; run: string }> {
  if ('pipeline' in payer) return { ...payer, run: NO_RUN };
  const [row] = await query(payerOf, { run: payer.run });
  return { ...row!, run: payer.run };
}

function sumValues(pipeline: string, run: string, day: string, service: string | null) {
  const month = day.slice(0, 7);
  return { pipeline, run, day, month, afterMonth: month + AFTER_ALL_DAYS, service };
}

/** Makes `spending`. */
export function spendingReads(db: StateSession): Pick<CheckpointReader, 'spending'> {
  return {
    spending: async (pipeline, run, day, service) => {
      const [row] = await db.read(sums, sumValues(pipeline, run ?? NO_RUN, day, service ?? null));
      return { ...row!, run: run === null ? 0 : row!.run };
    },
  };
}
