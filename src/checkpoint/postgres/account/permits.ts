/**
 * Permits of an account, counted in the rows of chunks: a chunk has one from its reservation until its folio is
 * finished, lost or given up. A pipeline that finds none free waits in a line, and goes to its end after each permit.
 *
 * One statement counts the permits and gives new ones. It sees the rows as they were when it began, so it gives only if
 * no other statement has given permits since then (`grants`). Permits that have become free since then do no harm.
 */
import { epochMs, listOf, type Prepared, statement } from '../../../postgres/statement.js';
import { OpenLimit, type OpenLimitState } from '../../../streams/open-limit.js';
import { parsePermitName } from '../../../streams/permits.js';
import type { PermitTable } from '../../../streams/shared-permits.js';
import type { AccountDatabase, AccountPipeline } from './member.js';
import { HELD_PERMITS, LIVE } from './read-account.js';

/** While one upload is tried again after a refusal, no other one begins. */
const IS_ASKED_ALONE = `EXISTS (
  SELECT FROM accounts
  JOIN chunks ON chunks.run = asking_run AND chunks.number = asking_chunk AND chunks.state = 'uploading'
  JOIN runs ON runs.id = chunks.run
  JOIN leases ON leases.pipeline = runs.pipeline AND leases.until > clock_timestamp()
  WHERE accounts.service = @service)`;

/**
 * Notifies the first pipelines of the line of their turn. One that does not ask soon is passed over. One that was
 * notified and has not asked yet is not notified again: the next ones are notified when it asks.
 * @param from the rows of the pipelines that wait. `count`: how many of them are notified.
 * @param lock what to do with a locked row, whose pipeline is asking right now: skip it, or wait for it.
 */
const called = (from: string, count: string, lock: string) => `
  first AS MATERIALIZED (
    SELECT pipeline, asks_by FROM account_pipelines
    WHERE service = @service AND (pipeline, waits_since) IN (SELECT pipeline, waits_since FROM (${from}) AS line)
    ORDER BY waits_since LIMIT ${count} FOR UPDATE ${lock}),
  called AS (
    UPDATE account_pipelines AS next SET asks_by = clock_timestamp() + interval '1 second'
    FROM first
    WHERE next.service = @service AND next.pipeline = first.pipeline
      AND first.asks_by > clock_timestamp() + interval '1 second'
    RETURNING channel),
  notified AS (SELECT count(pg_notify(channel, '')) AS pipelines FROM called)`;

/**
 * A pipeline is notified of its turn. It also asks from time to time, because it may have missed the notification, or a
 * pipeline before it may be gone.
 */
const PATIENCE = 'CASE WHEN ahead < 2 THEN 2000 ELSE least(15000 + ahead * 125, 120000) END::float8';
/** A pipeline that has not asked for this long after its patience is passed over. */
const LATE = "interval '2 seconds'";

interface StoredAnswer {
  readonly granted: readonly string[] | null;
  readonly raced: boolean;
  readonly limit: number;
  readonly open: number;
  readonly ahead: number;
  readonly patience: number;
  readonly others: number;
  readonly own: number;
  readonly ambiguous: number;
  readonly admitted: number | null;
  readonly learned: string | null;
}

// Locks its own row first, then the account's, and waits for no other row, so that two of these never deadlock.
const ask: Prepared<StoredAnswer> = statement(`
  WITH
    own AS MATERIALIZED (
      SELECT waits_since FROM account_pipelines
      WHERE service = @service AND pipeline = @pipeline AND fence = @fence::int8 FOR UPDATE),
    account AS MATERIALIZED (SELECT grants, admitted, learned FROM accounts WHERE service = @service),
    live AS MATERIALIZED (${LIVE}),
    held AS MATERIALIZED (${HELD_PERMITS}),
    asked AS MATERIALIZED (
      SELECT asked.run, asked.number, held.state IS NOT NULL AS has
      FROM unnest(@runs::text[], @chunks::int8[]) AS asked (run, number)
      LEFT JOIN held ON held.run = asked.run AND held.number = asked.number),
    me AS MATERIALIZED (
      SELECT coalesce((SELECT waits_since FROM own), clock_timestamp()) AS since),
    others AS MATERIALIZED (
      SELECT live.pipeline, live.waits_since FROM live
      WHERE pipeline <> @pipeline AND waits_since IS NOT NULL AND asks_by > clock_timestamp()),
    place AS MATERIALIZED (
      SELECT
        least(@folios::int8, (SELECT min(folios) FROM live), (SELECT admitted FROM account)) AS most,
        (SELECT count(*) FROM held) AS open,
        (SELECT count(*) FROM others WHERE waits_since < (SELECT since FROM me)) AS ahead,
        (SELECT count(*) FROM others) AS others,
        (SELECT count(*) FROM asked WHERE NOT has) AS wanted,
        ${IS_ASKED_ALONE} AS alone),
    share AS MATERIALIZED (
      SELECT CASE
        WHEN wanted = 0 OR alone OR most - open <= ahead THEN 0
        ELSE least(wanted, greatest(1, (most - open - ahead) / (others + 1))) END AS permits,
        ${PATIENCE} AS patience
      FROM place),
    counted AS (
      UPDATE accounts SET grants = grants + 1
      WHERE service = @service AND grants = (SELECT grants FROM account) AND (SELECT permits FROM share) > 0
      RETURNING service),
    reserved AS (
      INSERT INTO reserved_permits (run, chunk, service, pipeline, fence)
      SELECT run, number, @service, @pipeline, @fence::int8 FROM asked
      WHERE NOT has AND EXISTS (SELECT FROM counted)
      ORDER BY run, number LIMIT (SELECT permits FROM share)
      ON CONFLICT (run, chunk) DO UPDATE SET fence = excluded.fence
      RETURNING run, chunk),
    given AS MATERIALIZED (SELECT count(*) AS permits FROM reserved),
    queued AS (
      UPDATE account_pipelines SET
        waits_since = CASE
          WHEN wanted = given.permits THEN NULL
          WHEN given.permits > 0 THEN clock_timestamp()
          ELSE (SELECT since FROM me) END,
        asks_by = clock_timestamp() + patience * interval '1 millisecond' + ${LATE}
      FROM place, share, given
      WHERE service = @service AND pipeline = @pipeline AND fence = @fence
        AND NOT (waits_since IS NULL AND wanted = given.permits)),
    ${called(
      'SELECT pipeline, waits_since FROM others',
      '(SELECT CASE WHEN alone THEN 0 ELSE greatest(most - open - permits, 0) END FROM place, given)',
      'SKIP LOCKED',
    )}
  SELECT
    array(SELECT run || ' ' || chunk FROM reserved
      UNION ALL SELECT run || ' ' || number FROM asked WHERE has) AS granted,
    (SELECT permits FROM share) > 0 AND permits = 0 AS raced,
    most AS "limit", open + permits AS open, ahead, others,
    (SELECT patience FROM share) AS patience,
    (SELECT count(*) FROM held WHERE pipeline = @pipeline AND state <> 'ambiguous') AS own,
    (SELECT count(*) FROM held WHERE pipeline = @pipeline AND state = 'ambiguous') AS ambiguous,
    (SELECT admitted FROM account) AS admitted,
    (SELECT learned FROM account) AS learned
  FROM place, given, notified`);

// The reservation of a chunk that was sent is gone already. The statement waits for a pipeline that asks at the same
// moment and may not have seen yet that a permit is free. A question itself never waits for a lock, so no two wait for
// each other.
const freeOne = statement(`
  WITH
    given_back AS (DELETE FROM reserved_permits WHERE run = @run AND chunk = @chunk),
    live AS MATERIALIZED (${LIVE}),
    ${called(
      'SELECT pipeline, waits_since FROM live WHERE waits_since IS NOT NULL AND asks_by > clock_timestamp()',
      '1',
      '',
    )}
  SELECT pipelines FROM notified`);

/** What was learned from refusals of the service, and how many folios are open. */
interface Learned {
  readonly learned: string | null;
  readonly open: number;
  readonly most: number;
  readonly now: number;
  /** The holder of the permit whose upload is tried again, alone. */
  readonly asking: string | null;
}

const readLearned: Prepared<Learned> = statement(`
  SELECT
    learned,
    (SELECT count(*) FROM (${HELD_PERMITS}) AS held) AS open,
    least(@folios::int8, (SELECT min(folios) FROM (${LIVE}) AS live)) AS most,
    ${epochMs('clock_timestamp()')} AS now,
    CASE WHEN ${IS_ASKED_ALONE} THEN asking_run || ' ' || asking_chunk END AS asking
  FROM accounts WHERE service = @service`);

const writeLearned = statement(`
  UPDATE accounts SET learned = @learned, admitted = @admitted::int8, asking_run = @run, asking_chunk = @chunk::int8
  WHERE service = @service AND learned IS NOT DISTINCT FROM @before RETURNING service`);

/** Makes the permits of an account, asked for by one pipeline. */
export function accountPermits(db: AccountDatabase, member: AccountPipeline): PermitTable {
  const { service, pipeline, folios, channel } = member;
  /** Changes what was learned, again if another process did too. The row exists: permits were asked for before. */
  const learn = async <T>(
    change: (limit: OpenLimit, now: Learned) => { readonly asking: string | null; readonly result: T },
  ): Promise<T> => {
    for (;;) {
      const [row] = await db.query(readLearned, { service, folios }, true);
      const limit = new OpenLimit(row!.most, stateIn(row!.learned));
      const { asking, result } = change(limit, row!);
      const { state } = limit;
      const chunk = asking === null ? undefined : parsePermitName(asking);
      const values = {
        service,
        before: row!.learned,
        learned: JSON.stringify(state),
        admitted: state.limit,
        run: chunk?.run ?? null,
        chunk: chunk?.chunk ?? null,
      };
      const [written] = await db.query(writeLearned, values, false);
      if (written !== undefined) return result;
    }
  };
  const free = async (holder: string) => {
    await db.query(freeOne, { service, ...parsePermitName(holder) }, true);
  };

  return {
    ask: async (holders) => {
      await member.join();
      const chunks = holders.map(parsePermitName);
      const values = {
        service,
        pipeline,
        folios,
        fence: member.fence(),
        runs: listOf(chunks.map(({ run }) => run)),
        chunks: listOf(chunks.map(({ chunk }) => chunk)),
      };
      for (;;) {
        const [row] = await db.query(ask, values, true);
        const { raced, ambiguous, learned, granted, ...answer } = row!;
        if (raced) continue;
        const state = stateIn(learned);
        const learns = {
          opened: state !== undefined && (state.isTrying || !state.hasAccepted),
          ended: state !== undefined && state.limit !== null && !state.isTrying,
        };
        return { ...answer, granted: granted ?? [], doubtful: ambiguous, learns };
      }
    },
    free,
    opened: async (holder) => {
      await learn((limit, { open, asking }) => {
        limit.accepted(open);
        return { asking: asking === holder ? null : asking, result: undefined };
      });
      await free(holder);
    },
    ended: () =>
      learn((limit, { now, asking }) => {
        limit.ended(now);
        return { asking, result: undefined };
      }),
    refused: (holder) =>
      learn((limit, { open, now, asking }) => {
        // A refusal while another upload is tried again teaches nothing new.
        if (asking !== null && asking !== holder) return { asking, result: false };
        const others = Math.max(open - 1, 0);
        limit.refused(others, now);
        // If no other folio is open, none can end: only asking the service again can help.
        const asksAgain = others < limit.limit || others === 0;
        return { asking: asksAgain ? holder : null, result: asksAgain };
      }),
    listen: (hear) => db.listen(channel, hear),
  };
}

function stateIn(learned: string | null): OpenLimitState | undefined {
  return learned === null ? undefined : (JSON.parse(learned) as OpenLimitState);
}
