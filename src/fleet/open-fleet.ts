/** Opens what commands of a fleet share: the queue of jobs, and the tables in which workers see each other. */
import { type FleetTables, openFleetReader, openFleetTables } from '../checkpoint/postgres/workers.js';
import type { DatabaseAddress } from '../config/sections/load-section.js';
import type { Logger } from '../logger.js';
import type { JobQueue } from './job-queue.js';
import { type FleetRole, openJobs } from './open-jobs.js';
import { loadPgBoss } from './pg-boss.js';

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

/**
 * Opens the fleet of a state. Makes and migrates tables.
 * @throws ConfigError `FLEET_NODE_OLD`, `FLEET_DRIVER_MISSING`, `FLEET_DRIVER_OTHER`, `JOBS_NEWER`; LockedError
 *   `JOBS_IN_USE`, `STATE_IN_USE`; the errors of the database.
 */
export async function openFleet(
  address: DatabaseAddress,
  { node, logger }: FleetOptions,
  role: Exclude<FleetRole, 'reader'> = 'client',
): Promise<OpenFleet> {
  // Fails before the database is asked for anything.
  await loadPgBoss(node);
  return withQueue(address, await openFleetTables(address), { node, logger }, role);
}

/**
 * Opens the fleet of a state to look at it. Makes and migrates nothing.
 * @returns undefined if the state has no fleet.
 * @throws as `openFleet`; ConfigError `CHECKPOINT_OLDER`, `JOBS_OLDER`.
 */
export async function openFleetToLook(
  address: DatabaseAddress,
  options: FleetOptions,
): Promise<OpenFleet | undefined> {
  await loadPgBoss(options.node);
  const tables = await openFleetReader(address);
  if (tables === undefined) return undefined;
  if (await tables.hasQueues()) return withQueue(address, tables, options, 'reader');
  await tables.close();
  return undefined;
}

async function withQueue(
  address: DatabaseAddress,
  tables: FleetTables,
  options: FleetOptions,
  role: FleetRole,
): Promise<OpenFleet> {
  try {
    const queue = await openJobs({ address, tables, ...options, role });
    return {
      queue,
      tables,
      close: async () => {
        await queue.close();
        await tables.close();
      },
    };
  } catch (error) {
    await tables.close();
    throw error;
  }
}
