/**
 * The part of pg-boss that is used, and how it is loaded. Users of a fleet install it, in exactly this version: its
 * tables change between minor versions.
 */
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { ConfigError } from '../errors.js';

/** The version, and that of its tables. */
export const PG_BOSS = { version: '12.30.0', schema: 40 } as const;

/** A job, as pg-boss gives it. */
export interface BossJob {
  readonly id: string;
  readonly data: unknown;
  readonly state: 'created' | 'retry' | 'active' | 'completed' | 'cancelled' | 'failed';
  /** How often it was handed out before. */
  readonly retryCount: number;
  readonly singletonKey: string | null;
  readonly createdOn: Date;
  readonly startAfter: Date;
  readonly startedOn: Date | null;
}

interface BossSchedule {
  readonly key: string;
  readonly cron: string;
  readonly timezone: string;
  readonly data?: unknown;
}

/** A queue that keeps at most one waiting job of a key, and the settings of its jobs. All times are in seconds. */
export interface BossQueueOptions {
  readonly policy?: 'short';
  readonly retryLimit?: number;
  readonly retryDelay?: number;
  readonly expireInSeconds?: number;
  readonly retentionSeconds?: number;
  readonly deleteAfterSeconds?: number;
  readonly heartbeatSeconds?: number;
}

export interface Boss {
  on(event: 'error' | 'warning', listener: (what: { readonly message: string }) => void): unknown;
  start(): Promise<unknown>;
  stop(options: { readonly graceful: boolean }): Promise<void>;
  createQueue(name: string, options: BossQueueOptions): Promise<void>;
  /** Makes a job. @returns its id; null if there is one with the id, or one of the key waits. */
  send(
    name: string,
    data: object,
    options: { readonly id: string; readonly singletonKey: string },
  ): Promise<string | null>;
  /** Changes the waiting jobs of a key, or makes one. */
  upsert(
    name: string,
    data: object,
    options: { readonly singletonKey: string; readonly startAfter: number; readonly match: 'all' },
  ): Promise<{ readonly updated: number; readonly inserted: number }>;
  /** Changes a waiting job. @param startAfter seconds from now. */
  update(
    name: string,
    data: object,
    options: { readonly id: string; readonly startAfter: number },
  ): Promise<unknown>;
  fetch(
    name: string,
    options: { readonly batchSize: number; readonly includeMetadata: true },
  ): Promise<readonly BossJob[]>;
  touch(name: string, ids: readonly string[]): Promise<unknown>;
  fail(name: string, id: string, output: object): Promise<unknown>;
  complete(name: string, id: string, output: object): Promise<unknown>;
  /** @param options `queued`: those that wait. */
  findJobs(
    name: string,
    options: { readonly id?: string; readonly key?: string; readonly queued?: boolean },
  ): Promise<readonly BossJob[]>;
  deleteJob(name: string, ids: readonly string[]): Promise<unknown>;
  schedule(
    name: string,
    cron: string,
    data: object,
    options: { readonly tz: string; readonly key: string; readonly singletonKey: string },
  ): Promise<void>;
  unschedule(name: string, key: string): Promise<void>;
  /** @param key only that one. */
  getSchedules(name: string, key?: string): Promise<readonly BossSchedule[]>;
}

export interface BossOptions {
  readonly connectionString: string;
  readonly schema: string;
  readonly application_name: string;
  /** Connections at most. */
  readonly max: number;
  readonly keepAlive: boolean;
  /** How long a statement may take, in ms; 0: no limit. */
  readonly query_timeout: number;
  /** Makes the socket of a connection. */
  readonly stream: () => Socket;
  /** Makes and migrates the tables. */
  readonly migrate: boolean;
  readonly createSchema: boolean;
  /** Looks for jobs whose worker is silent. */
  readonly supervise: boolean;
  /** Makes jobs of schedules. */
  readonly schedule: boolean;
  readonly superviseIntervalSeconds?: number;
  readonly monitorIntervalSeconds?: number;
  readonly reindex: boolean;
  readonly monitorVacuum: boolean;
}

export interface BossModule {
  readonly PgBoss: new (options: BossOptions) => Boss;
}

/** The oldest Node on which pg-boss runs. */
const LEAST_NODE = [22, 12] as const;

/**
 * Loads pg-boss.
 * @param node the version of Node, such as `22.12.0`.
 * @throws ConfigError `FLEET_NODE_OLD`, `FLEET_DRIVER_MISSING`, `FLEET_DRIVER_OTHER`.
 */
export async function loadPgBoss(node: string): Promise<BossModule> {
  expectNode(node);
  // A variable, so that TypeScript needs no types: on an older Node, npm leaves the package out.
  const name: string = 'pg-boss';
  const require = createRequire(import.meta.url);
  let version: unknown;
  try {
    ({ version } = require(`${name}/package.json`) as { readonly version?: unknown });
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
    throw new ConfigError(
      'FLEET_DRIVER_MISSING',
      'the package pg-boss, which a fleet needs, is not installed',
    );
  }
  if (version !== PG_BOSS.version) {
    throw new ConfigError(
      'FLEET_DRIVER_OTHER',
      `pg-boss ${String(version)} is installed, and a fleet needs exactly ${PG_BOSS.version}: its tables differ between versions`,
      { facts: { installed: String(version), needed: PG_BOSS.version } },
    );
  }
  return (await import(name)) as BossModule;
}

/** @throws ConfigError `FLEET_NODE_OLD`. */
function expectNode(node: string): void {
  const [major = 0, minor = 0] = node.split('.').map(Number);
  if (major > LEAST_NODE[0] || (major === LEAST_NODE[0] && minor >= LEAST_NODE[1])) return;
  throw new ConfigError(
    'FLEET_NODE_OLD',
    `a fleet needs Node ${LEAST_NODE.join('.')} or newer, and this is Node ${node}`,
    { facts: { node, needed: LEAST_NODE.join('.') } },
  );
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /MODULE_NOT_FOUND$/.test(String(error.code));
}
