/**
 * Counts of an account: the pipelines that work with it, the permits that they hold, and its present state, for people.
 */
import type { PostgresSession } from '../../../postgres/session.js';
import { type Prepared, statement } from '../../../postgres/statement.js';
import type { AccountState } from '../../account-state.js';

/** Chunks whose folio is, or may be, open. */
const OPEN_CHUNK_STATES = "('uploading', 'ambiguous', 'submitted')";

/** Pipelines of the account whose lease has not ended. */
export const LIVE = `
  SELECT member.* FROM account_pipelines AS member
  JOIN leases ON leases.pipeline = member.pipeline AND leases.fence = member.fence
  WHERE member.service = @service AND leases.until > clock_timestamp()`;

/** The permits of the account. A reservation counts until its chunk is sent. */
export const HELD_PERMITS = `
  SELECT runs.pipeline, chunks.run, chunks.number, chunks.state
  FROM runs JOIN chunks ON chunks.run = runs.id
  WHERE runs.service = @service AND runs.state IN ('open', 'publishing') AND chunks.state IN ${OPEN_CHUNK_STATES}
  UNION ALL
  SELECT reserved.pipeline, reserved.run, reserved.chunk, 'reserved'
  FROM reserved_permits AS reserved
  JOIN leases ON leases.pipeline = reserved.pipeline AND leases.fence = reserved.fence
    AND leases.until > clock_timestamp()
  JOIN chunks ON chunks.run = reserved.run AND chunks.number = reserved.chunk AND chunks.state = 'cut'
  WHERE reserved.service = @service`;

const read: Prepared<Omit<AccountState, 'pipelines' | 'open'>> = statement(`
  WITH live AS MATERIALIZED (${LIVE})
  SELECT
    service,
    CASE WHEN min(live_folios) IS NOT NULL THEN least(min(live_folios), admitted) END AS folios,
    min(live_per_second) AS "requestsPerSecond", admitted,
    (SELECT count(*) FROM live WHERE waits_since IS NOT NULL AND asks_by > clock_timestamp()) AS waiting,
    CASE WHEN paused_until > clock_timestamp() THEN (extract(epoch FROM paused_until) * 1000)::int8 END AS "pausedUntil"
  FROM accounts
  CROSS JOIN (SELECT min(folios) AS live_folios, min(per_second) AS live_per_second FROM live) AS wishes
  WHERE service = @service GROUP BY service, admitted, paused_until`);

const readPipelines: Prepared<AccountState['pipelines'][number]> = statement(`
  SELECT held.pipeline, count(*) AS open, bool_or(leases.pipeline IS NOT NULL) AS "isWorking"
  FROM (${HELD_PERMITS}) AS held
  LEFT JOIN leases ON leases.pipeline = held.pipeline AND leases.until > clock_timestamp()
  GROUP BY held.pipeline ORDER BY count(*) DESC, held.pipeline COLLATE "C"`);

/** @returns undefined if no pipeline has worked with the account. */
export async function readAccount(
  db: Pick<PostgresSession, 'query'>,
  service: string,
): Promise<AccountState | undefined> {
  const [row] = await db.query(read, { service }, true);
  if (row === undefined) return undefined;
  const pipelines = await db.query(readPipelines, { service }, true);
  return { ...row, pipelines, open: pipelines.reduce((all, { open }) => all + open, 0) };
}
