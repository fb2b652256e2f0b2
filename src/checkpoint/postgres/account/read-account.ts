/** What an account does now, for people: whose folios are open, which limits hold, and what is waited for. */
import type { PostgresSession } from '../../../postgres/session.js';
import { type Prepared, statement } from '../../../postgres/statement.js';
import { HELD_PERMITS, LIVE } from './permits.js';

/** What the processes of a state do with an account at the service. */
export interface AccountState {
  /** The identity of the service. */
  readonly service: string;
  /** Folios that are open, or may be, with those that are about to be. */
  readonly open: number;
  /** How many may be open, and how many requests a second may be sent; null while no pipeline works with the account. */
  readonly folios: number | null;
  readonly requestsPerSecond: number | null;
  /** How many open folios the service allows, if it has refused more. */
  readonly admitted: number | null;
  /** Pipelines that wait for a permit. */
  readonly waiting: number;
  /** The end of a pause for which the service has asked, in ms since the epoch; null without one. */
  readonly pausedUntil: number | null;
  /** Whose folios are open, and whether a process works on the pipeline. */
  readonly pipelines: readonly {
    readonly pipeline: string;
    readonly open: number;
    readonly isWorking: boolean;
  }[];
}

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
