/**
 * Opens what commands of a fleet share: the tables in which workers see each other, and the queue of runs, which pg-boss
 * keeps in the same database: schedules, handing out, repeating, dead letters. Correctness rests on the lease of a
 * pipeline, and not on this queue: a job that is handed out twice finds the lease taken, and a run whose job is lost goes
 * on with the next one.
 */
import { translateStateError } from '../checkpoint/postgres/translate-state-error.js';
import {
  type FleetTables,
  isAlive,
  JOBS_SCHEMA,
  openFleetReader,
  openFleetTables,
} from '../checkpoint/postgres/workers.js';
import type { DatabaseAddress } from '../config/sections/load-section.js';
import { ConfigError, LockedError } from '../errors.js';
import type { Logger } from '../logger.js';
import { openSockets } from '../postgres/client.js';
import { createJobQueue, type JobQueue } from './job-queue.js';
import {
  type Boss,
  type BossModule,
  type BossOptions,
  type BossQueueOptions,
  loadPgBoss,
  PG_BOSS,
} from './pg-boss.js';
import { fleetTimes } from './times.js';

export interface OpenFleet {
  readonly queue: JobQueue;
  readonly tables: FleetTables;
  close(): Promise<void>;
}

export interface FleetOptions {
  /** The version of Node. */
  readonly node: string;
  readonly logger: Logger;
}

/** A worker makes the jobs of schedules, and takes jobs from silent workers. A reader makes and migrates nothing. */
type FleetRole = 'worker' | 'client' | 'reader';

/**
 * Opens the fleet of a state. Makes and migrates tables.
 * @throws ConfigError `FLEET_NODE_OLD`, `FLEET_DRIVER_MISSING`, `FLEET_DRIVER_OTHER`, `JOBS_NEWER`; LockedError
 *   `JOBS_IN_USE`, `STATE_IN_USE`; the errors of the database, as all methods of the queue do.
 */
export async function openFleet(
  address: DatabaseAddress,
  { node, logger }: FleetOptions,
  role: Exclude<FleetRole, 'reader'> = 'client',
): Promise<OpenFleet> {
  // Fails before the database is asked for anything.
  const driver = await loadPgBoss(node);
  return withQueue(driver, address, await openFleetTables(address), logger, role);
}

/**
 * Opens the fleet of a state to look at it. Makes and migrates nothing.
 * @returns undefined if the state has no fleet.
 * @throws as `openFleet`; ConfigError `CHECKPOINT_OLDER`, `JOBS_OLDER`.
 */
export async function openFleetToLook(
  address: DatabaseAddress,
  { node, logger }: FleetOptions,
): Promise<OpenFleet | undefined> {
  const driver = await loadPgBoss(node);
  const tables = await openFleetReader(address);
  if (tables === undefined) return undefined;
  let hasQueues = false;
  try {
    hasQueues = await tables.hasQueues();
  } finally {
    if (!hasQueues) await tables.close();
  }
  return hasQueues ? withQueue(driver, address, tables, logger, 'reader') : undefined;
}

const DAY_S = 86_400;

const queues = (): Readonly<Record<'runs' | 'dead-letters', BossQueueOptions>> => ({
  runs: {
    policy: 'short',
    // Never reached: lost heartbeats and pauses count, too. `afterRun` decides how often a job is repeated.
    retryLimit: 1_000_000_000,
    retryDelay: 1,
    heartbeatSeconds: Math.round(fleetTimes().silent / 1000),
    // The longest that pg-boss allows. A longer run goes on, and its job is handed out again.
    expireInSeconds: DAY_S,
    // Nothing that waits may vanish.
    retentionSeconds: 3650 * DAY_S,
    deleteAfterSeconds: 7 * DAY_S,
  },
  'dead-letters': { policy: 'short', retryLimit: 0, retentionSeconds: 3650 * DAY_S },
});

/** Opens the queue, and makes its tables if there are none. @param tables closed if that fails. */
async function withQueue(
  { PgBoss }: BossModule,
  address: DatabaseAddress,
  tables: FleetTables,
  logger: Logger,
  role: FleetRole,
): Promise<OpenFleet> {
  const superviseS = Math.max(Math.round(fleetTimes().beat / 1000), 1);
  const sockets = openSockets();
  const settings: BossOptions = {
    connectionString: address.reveal(),
    schema: JOBS_SCHEMA,
    application_name: 'foliopipe jobs',
    max: 2,
    keepAlive: true,
    query_timeout: fleetTimes().silent,
    stream: sockets.open,
    migrate: false,
    createSchema: false,
    supervise: role === 'worker',
    schedule: role === 'worker',
    superviseIntervalSeconds: superviseS,
    // A little less, or every second look would be too early.
    monitorIntervalSeconds: Math.max(superviseS - 1, 1),
    reindex: false,
    monitorVacuum: false,
  };
  const asked = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw translateStateError(error, tables.place);
    });
  /** @param use is tried with it; if that fails, it is stopped. */
  const open = async (changes: Partial<BossOptions>, use?: (boss: Boss) => Promise<void>): Promise<Boss> => {
    const boss = new PgBoss({ ...settings, ...changes });
    const warn = warnOnce(logger);
    boss.on('error', warn);
    boss.on('warning', warn);
    try {
      await asked(boss.start());
      await use?.(boss);
    } catch (error) {
      await boss.stop({ graceful: false }).catch(() => undefined);
      throw error;
    }
    return boss;
  };

  try {
    if (await needsTables(tables, role)) {
      const made = await open({
        query_timeout: 0,
        migrate: true,
        createSchema: !(await tables.hasJobsSchema()),
        supervise: false,
        schedule: false,
      });
      await sockets.closeAfter(made.stop({ graceful: false }));
    }
    const boss = await open({}, async (opened) => {
      const kept = role === 'reader' ? [] : Object.entries(queues());
      for (const [name, queue] of kept) await asked(opened.createQueue(name, queue));
    });
    return {
      queue: createJobQueue(boss, asked, warnOnce(logger)),
      tables,
      close: async () => {
        await sockets.closeAfter(boss.stop({ graceful: false }));
        await tables.close();
      },
    };
  } catch (error) {
    await tables.close();
    throw error;
  }
}

/** Whether the tables of pg-boss must be made or migrated, which a fleet does only while no worker uses them. */
async function needsTables(tables: FleetTables, role: FleetRole): Promise<boolean> {
  const version = await tables.jobsVersion();
  if (version === null) return true;
  const facts = { database: tables.place, version, known: PG_BOSS.schema };
  if (version > PG_BOSS.schema) {
    throw new ConfigError(
      'JOBS_NEWER',
      `the tables of the jobs in ${tables.place} are of a newer foliopipe (they have version ${version}, known here: ${PG_BOSS.schema})`,
      { facts },
    );
  }
  if (version === PG_BOSS.schema) return false;
  const isOlder = `the tables of the jobs in ${tables.place} are of an older foliopipe`;
  if (role === 'reader') throw new ConfigError('JOBS_OLDER', isOlder, { facts });
  const alive = (await tables.workers()).filter(isAlive);
  if (alive.length === 0) return true;
  throw new LockedError('JOBS_IN_USE', `${isOlder}, and ${alive.length} of its workers use them`, {
    facts: { ...facts, workers: alive.length },
  });
}

/** Logs each message at most once a minute: without a database, each loop of pg-boss fails every few seconds. */
function warnOnce(logger: Logger): (what: { readonly message: string }) => void {
  const until = new Map<string, number>();
  return ({ message }) => {
    const now = performance.now();
    if ((until.get(message) ?? 0) > now) return;
    until.set(message, now + 60_000);
    logger.warn({ reason: message }, `the queue of jobs: ${message}`);
  };
}
