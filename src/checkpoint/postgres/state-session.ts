/**
 * What the tables are read and changed with. Every change of a run proves first that this process holds the lease of
 * the pipeline, within the same transaction: a process that was paused, and whose lease has passed to another one,
 * changes nothing. What the service says of a paid request is fenced by its attempt instead (uploads.ts).
 */
import { LockedError } from '../../errors.js';
import type { PostgresSession, Query } from '../../postgres/session.js';
import { type Prepared, statement, type Value } from '../../postgres/statement.js';
import { CheckpointStateError } from '../checkpoint-state-error.js';

/** The lease that this process holds; shared by the lock and the checkpoint of one state. */
export interface Fence {
  /** Undefined for commands that change no run, and take no lock. */
  held: { readonly pipeline: string; readonly number: number } | undefined;
}

type Values = Readonly<Record<string, Value>>;

export interface StateSession {
  /**
   * A statement that only reads. While this process holds a lease and changes nothing, the same question is asked once:
   * only it changes the run.
   */
  read<Row>(asked: Prepared<Row>, values: Values): Promise<readonly Row[]>;
  /**
   * A change of a single statement.
   * @returns its first row.
   * @throws LockedError `LEASE_LOST`; CheckpointStateError with the method and what is missing, if it gives no row.
   */
  change<Row>(asked: Fenced<Row>, values: Values, method: string, missing: string): Promise<Row>;
  /** A change of several statements in one transaction. @throws LockedError `LEASE_LOST`. */
  changes<T>(body: (query: Query) => Promise<T>): Promise<T>;
  /** A change without a fence, for what the service says of a paid request. It may run twice after a lost connection. */
  outcome<T>(body: (query: Query) => Promise<T>): Promise<T>;
  /** The same of a single statement. */
  readonly outcomeOf: Query;
  /** @throws LockedError `LEASE_LOST` if this process had the lease and has it no longer. */
  expectHeld(): Promise<void>;
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

const holdLease = statement(LEASE);
const isHeld = statement(LEASE.replace('FOR SHARE', ''));

/** @param parts the further parts of a `WITH`, and the statement that gives the rows. */
export function fenced<Row = Record<string, unknown>>(parts: string): Fenced<Row> {
  return {
    leased: statement(`WITH held AS MATERIALIZED (${LEASE}), ${parts}`),
    free: statement(`WITH held AS (SELECT 1), ${parts}`),
  };
}

/** Pages of a long list are asked for once. */
const MOST_ANSWERS = 20;

export function createStateSession(session: PostgresSession, fence: Fence): StateSession {
  const lease = () => ({ leasePipeline: fence.held!.pipeline, leaseFence: fence.held!.number });
  const expectHeld = async () => {
    if (fence.held === undefined) return;
    const [held] = await session.query(isHeld, lease(), true);
    if (held === undefined) throw leaseLost(fence.held.pipeline);
  };
  /** Forgotten by each change as it is asked for: what is asked after it is answered after it. */
  const answers = new Map<string, Promise<readonly unknown[]>>();
  return {
    expectHeld,
    read: <Row>(asked: Prepared<Row>, values: Values) => {
      if (fence.held === undefined) return session.query(asked, values, true);
      const question = `${asked.name} ${JSON.stringify(values)}`;
      const known = answers.get(question);
      if (known !== undefined) return known as Promise<readonly Row[]>;
      const rows = session.query(asked, values, true);
      if (answers.size >= MOST_ANSWERS) answers.clear();
      answers.set(question, rows);
      rows.catch(() => answers.clear());
      return rows;
    },
    change: async (asked, values, method, missing) => {
      answers.clear();
      const rows =
        fence.held === undefined
          ? await session.query(asked.free, values, false)
          : await session.query(asked.leased, { ...values, ...lease() }, false);
      const [row] = rows;
      if (row !== undefined) return row;
      await expectHeld();
      throw new CheckpointStateError(method, missing);
    },
    changes: (body) => {
      answers.clear();
      return session.transaction('BEGIN', async (query) => {
        if (fence.held !== undefined) {
          const [held] = await query(holdLease, lease());
          if (held === undefined) throw leaseLost(fence.held.pipeline);
        }
        return body(query);
      });
    },
    outcome: (body) => {
      answers.clear();
      return session.transaction('BEGIN', body, true);
    },
    outcomeOf: (asked, values = {}) => {
      answers.clear();
      return session.query(asked, values, true);
    },
  };
}

/** The error of a process that works on a pipeline without its lease. */
export function leaseLost(pipeline: string): LockedError {
  return new LockedError(
    'LEASE_LOST',
    `this process has lost the lease of the pipeline ${pipeline}: it was stopped, or cut off from the database, for too long`,
    { facts: { pipeline } },
  );
}

/** Throws unless the statement gave a row; within a transaction, this undoes it. */
export function expectRow<Row>(rows: readonly Row[], method: string, missing: string): Row {
  const [row] = rows;
  if (row === undefined) throw new CheckpointStateError(method, missing);
  return row;
}
