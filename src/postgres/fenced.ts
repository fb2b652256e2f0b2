/**
 * Changes that prove the lease of a pipeline in their own statement: a process that was paused, and whose lease has
 * passed to another one, changes nothing.
 */
import { LockedError } from '../errors.js';
import type { PostgresSession } from './session.js';
import { type Prepared, statement, type Value } from './statement.js';

/** The lease that this process holds; shared by everything that changes the state. */
export interface Fence {
  /** Undefined for commands that change no run, and take no lock. */
  held: { readonly pipeline: string; readonly number: number } | undefined;
  /**
   * The error of a lease that was lost, or has ended by the clock of this process; undefined while it is held. Asks no
   * database.
   */
  loss?(): unknown;
}

/** A change with and without a lease. */
export interface Fenced<Row> {
  readonly leased: Prepared<Row>;
  readonly free: Prepared<Row>;
}

/** The condition of every writing part of a fenced statement. */
export const HELD = 'EXISTS (SELECT FROM held)';

// The row stays locked until the change has ended: the lease cannot pass to another process in between.
const LEASE = `SELECT 1 FROM leases
  WHERE pipeline = @leasePipeline AND fence = @leaseFence AND until > clock_timestamp() FOR SHARE`;

/** Proves the lease within a transaction: no row means that it is lost. */
export const holdLease = statement(LEASE);

const isHeld = statement(LEASE.replace('FOR SHARE', ''));

/** @param parts the further parts of a `WITH`, and the statement that gives the rows. */
export function fenced<Row = Record<string, unknown>>(parts: string): Fenced<Row> {
  return {
    leased: statement(`WITH held AS MATERIALIZED (${LEASE}), ${parts}`),
    free: statement(`WITH held AS (SELECT 1), ${parts}`),
  };
}

/** The values of the lease in a statement. */
export function leaseValues(held: NonNullable<Fence['held']>): Record<string, Value> {
  return { leasePipeline: held.pipeline, leaseFence: held.number };
}

/**
 * Runs a fenced statement.
 * @param isRepeatable see `PostgresSession.query`.
 * @throws LockedError `LEASE_LOST` if it returns no row because this process had the lease and has lost it.
 */
export async function askFenced<Row>(
  session: Pick<PostgresSession, 'query'>,
  fence: Fence,
  { leased, free }: Fenced<Row>,
  values: Readonly<Record<string, Value>>,
  isRepeatable: boolean,
): Promise<readonly Row[]> {
  const { held } = fence;
  if (held === undefined) return session.query(free, values, isRepeatable);
  const rows = await session.query(leased, { ...values, ...leaseValues(held) }, isRepeatable);
  if (rows.length === 0) await expectLease(session, fence);
  return rows;
}

/** @throws LockedError `LEASE_LOST` if this process had the lease and has lost it. */
export async function expectLease(session: Pick<PostgresSession, 'query'>, { held }: Fence): Promise<void> {
  if (held === undefined) return;
  const [found] = await session.query(isHeld, leaseValues(held), true);
  if (found === undefined) throw leaseLost(held.pipeline);
}

/**
 * The error of a process that works on a pipeline without its lease.
 * @param what the lease locks.
 */
export function leaseLost(pipeline: string, what = `the pipeline ${pipeline}`): LockedError {
  return new LockedError(
    'LEASE_LOST',
    `this process has lost the lease of ${what}: it was stopped, or cut off from the database, for too long`,
    { facts: { pipeline } },
  );
}
