/** The workers of a fleet: each renews a row of its own while it lives. The rows are shown, and decide nothing. */
import type { DatabaseAddress } from '../../config/sections/load-section.js';
import type { PostgresSession } from '../../postgres/session.js';
import { epochMs, type Prepared, statement } from '../../postgres/statement.js';
import { refuseMarked } from '../copy/copy-mark.js';
import { type HeldLease, heldLeases } from './lease.js';
import { readMark } from './marks.js';
import { hasReadableTables, migrate } from './migrate.js';
import { openShortConnection } from './open-postgres-state.js';
import { migrations } from './tables.js';

/** A worker, as it describes itself. */
export interface WorkerFacts {
  readonly host: string;
  readonly pid: number;
  /** Of foliopipe and of Node. */
  readonly version: string;
  readonly node: string;
  /** How many runs it does at once at most. */
  readonly runs: number;
  readonly state: 'working' | 'draining';
  /** Pipelines that it works on. */
  readonly pipelines: readonly string[];
}

/** A worker that has a row. */
export interface KnownWorker extends WorkerFacts {
  readonly id: string;
  /** Epoch milliseconds, by the database's clock. */
  readonly since: number;
  /** How long ago it was seen last, in ms. */
  readonly silentMs: number;
}

/** A worker that has not renewed its row for this long counts as silent, in ms. It renews it several times as often. */
const SILENT_MS = 30_000;

export function isAlive({ silentMs }: Pick<KnownWorker, 'silentMs'>): boolean {
  return silentMs < SILENT_MS;
}

/** A schedule. Times are epoch milliseconds, by the database's clock. */
export interface SeenSchedule {
  readonly pipeline: string;
  readonly cron: string;
  readonly timeZone: string;
  /** When it was registered last. */
  readonly since: number;
  readonly now: number;
}

/** What all workers of a state see of each other. */
export interface FleetTables {
  /** The database as it may be shown. */
  readonly place: string;
  /** Renews the row of a worker; the first call adds it. */
  beat(id: string, facts: WorkerFacts): Promise<void>;
  /** Removes the row of a worker that ends. */
  leave(id: string): Promise<void>;
  /** Those that were seen within `FORGOTTEN_MS`. */
  workers(): Promise<readonly KnownWorker[]>;
  /** Removes the rows of workers that were not seen within `FORGOTTEN_MS`. */
  sweep(): Promise<void>;
  leases(): Promise<readonly HeldLease[]>;
  /** The schedules in the tables of the jobs. */
  schedules(): Promise<readonly SeenSchedule[]>;
  /**
   * For each pipeline, when its newest job was made or first begun; the present time if it waits. Epoch milliseconds,
   * by the database's clock.
   */
  served(): Promise<ReadonlyMap<string, number>>;
  /** The version of the tables of the jobs; null if there are none. */
  jobsVersion(): Promise<number | null>;
  /** Whether the tables of the jobs have the queues, which are made last. */
  hasQueues(): Promise<boolean>;
  /** Whether the schema of the jobs is there, with or without tables. */
  hasJobsSchema(): Promise<boolean>;
  close(): Promise<void>;
}

/** The schema in which pg-boss keeps the jobs. */
export const JOBS_SCHEMA = 'foliopipe_jobs';

/** How long a worker that is gone is still shown. */
export const FORGOTTEN_MS = 60 * 60_000;

const SEEN = `(seen > clock_timestamp() - interval '${FORGOTTEN_MS} milliseconds')`;

const beat = statement(`
  INSERT INTO workers (id, facts, since, seen) VALUES (@id, @facts, clock_timestamp(), clock_timestamp())
  ON CONFLICT (id) DO UPDATE SET facts = excluded.facts, seen = excluded.seen`);
const leave = statement('DELETE FROM workers WHERE id = @id');
const sweep = statement(`DELETE FROM workers WHERE NOT ${SEEN}`);
const readAll: Prepared<{ id: string; facts: string; since: number; silentMs: number }> = statement(`
  SELECT id, facts, ${epochMs('since')} AS since, ${epochMs('clock_timestamp() - seen')} AS "silentMs"
  FROM workers WHERE ${SEEN} ORDER BY since, id`);
const findSchema: Prepared<{ found: boolean }> = statement(
  `SELECT to_regnamespace('${JOBS_SCHEMA}') IS NOT NULL AS found`,
);
const findVersion: Prepared<{ found: boolean }> = statement(
  `SELECT to_regclass('${JOBS_SCHEMA}.version') IS NOT NULL AS found`,
);
const readVersion: Prepared<{ version: number }> = statement(`SELECT version FROM ${JOBS_SCHEMA}.version`);
const findQueues: Prepared<{ found: boolean }> = statement(
  `SELECT count(*) = 2 AS found FROM ${JOBS_SCHEMA}.queue WHERE name IN ('runs', 'dead-letters')`,
);

const readSchedules: Prepared<SeenSchedule> = statement(`
  SELECT key AS pipeline, cron, timezone AS "timeZone", ${epochMs('updated_on')} AS since,
    ${epochMs('clock_timestamp()')} AS now
  FROM ${JOBS_SCHEMA}.schedule WHERE name = 'runs' ORDER BY key`);
// A job that waits serves all times until now. A repeated one serves only the times until it was made.
const readServed: Prepared<{ pipeline: string; until: number }> = statement(`
  SELECT singleton_key AS pipeline,
    ${epochMs(`max(CASE WHEN state = 'created' THEN clock_timestamp()
      WHEN retry_count = 0 THEN greatest(created_on, started_on) ELSE created_on END)`)} AS until
  FROM ${JOBS_SCHEMA}.job WHERE name = 'runs' GROUP BY singleton_key`);

/**
 * Opens one connection to the state, whose tables are made or migrated.
 * @throws the errors of `openPostgresState`.
 */
export async function openFleetTables(address: DatabaseAddress): Promise<FleetTables> {
  const db = await openShortConnection(address);
  try {
    await migrate(db, migrations);
    refuseMarked(db.place, await readMark(db), 'change');
    return tablesIn(db);
  } catch (error) {
    await db.close();
    throw error;
  }
}

/**
 * Opens one connection to the state for reading. Migrates nothing and creates nothing.
 * @returns undefined when there is no state yet.
 * @throws the errors of `openPostgresReader`.
 */
export async function openFleetReader(address: DatabaseAddress): Promise<FleetTables | undefined> {
  const db = await openShortConnection(address);
  try {
    if (await hasReadableTables(db, migrations.length)) return tablesIn(db);
  } catch (error) {
    await db.close();
    throw error;
  }
  await db.close();
  return undefined;
}

function tablesIn(db: PostgresSession): FleetTables {
  const hasVersion = async () => (await db.query(findVersion, {}, true))[0]!.found;
  return {
    place: db.place,
    beat: async (id, facts) => void (await db.query(beat, { id, facts: JSON.stringify(facts) }, true)),
    leave: async (id) => void (await db.query(leave, { id }, true)),
    workers: async () =>
      (await db.query(readAll, {}, true)).map(({ id, facts, since, silentMs }) => ({
        id,
        since: Math.round(since),
        silentMs: Math.round(silentMs),
        ...(JSON.parse(facts) as WorkerFacts),
      })),
    sweep: async () => void (await db.query(sweep, {}, true)),
    leases: () => heldLeases(db),
    schedules: () => db.query(readSchedules, {}, true),
    served: async () =>
      new Map((await db.query(readServed, {}, true)).map(({ pipeline, until }) => [pipeline, until])),
    hasJobsSchema: async () => (await db.query(findSchema, {}, true))[0]!.found,
    jobsVersion: async () =>
      (await hasVersion()) ? ((await db.query(readVersion, {}, true))[0]?.version ?? null) : null,
    hasQueues: async () => (await hasVersion()) && (await db.query(findQueues, {}, true))[0]!.found,
    close: db.close,
  };
}
