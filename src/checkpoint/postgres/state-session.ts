/**
 * Reads and changes the tables. Every change of a run proves first that this process holds the lease of the pipeline,
 * within the same transaction: a process that was paused, and whose lease has passed to another one, changes nothing.
 * The outcome of a paid request is fenced by its attempt instead (uploads.ts).
 */
import { TroubleError } from '../../errors.js';
import {
  askFenced,
  expectLease,
  type Fence,
  type Fenced,
  holdLease,
  leaseLost,
  leaseValues,
} from '../../postgres/fenced.js';
import type { PostgresSession, Query } from '../../postgres/session.js';
import { type Prepared, statement, type Value } from '../../postgres/statement.js';
import { expectRow, type MakeChange } from '../rows/change.js';

type Values = Readonly<Record<string, Value>>;

export interface StateSession {
  /**
   * A statement that only reads. While this process holds a lease, its answer is kept until the next change: no other
   * process changes the run.
   * @param isFresh for what others change without this lease: the answer is not kept.
   */
  read<Row>(asked: Prepared<Row>, values: Values, isFresh?: boolean): Promise<readonly Row[]>;
  /**
   * A change of a single statement.
   * @returns its first row.
   * @throws LockedError `LEASE_LOST`; CheckpointStateError with the method and what is missing, if it returns no row.
   */
  change<Row>(asked: Fenced<Row>, values: Values, method: string, missing: string): Promise<Row>;
  /** A change of several statements in one transaction. @throws LockedError `LEASE_LOST`. */
  changes<T>(body: (query: Query) => Promise<T>): Promise<T>;
  /** A change without a fence, for the outcome of a paid request. It may run twice after a lost connection. */
  outcome<T>(body: (query: Query) => Promise<T>): Promise<T>;
  /** Like `outcome`, for a single statement. */
  readonly outcomeOf: Query;
  /** @throws LockedError `LEASE_LOST` if this process had the lease and has lost it. */
  expectHeld(): Promise<void>;
}

/** The most answers that are kept: each page of a long list is read only once. */
const MOST_ANSWERS = 20;

export function createStateSession(session: PostgresSession, fence: Fence): StateSession {
  /** Answers to reads. Each change clears them when it is asked for, because later reads must see it. */
  const answers = new Map<string, Promise<readonly unknown[]>>();
  return {
    expectHeld: () => expectLease(session, fence),
    read: <Row>(asked: Prepared<Row>, values: Values, isFresh = false) => {
      if (fence.held === undefined || isFresh) return session.query(asked, values, true);
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
      const [row] = await askFenced(session, fence, asked, values, false);
      return expectRow(row, method, missing);
    },
    changes: (body) => {
      answers.clear();
      return session.transaction('BEGIN', async (query) => {
        if (fence.held !== undefined) {
          const [held] = await query(holdLease, leaseValues(fence.held));
          if (held === undefined) throw leaseLost(fence.held.pipeline);
        }
        return body(query);
      });
    },
    outcome: (body) => {
      answers.clear();
      return session.transaction('BEGIN', body, 'outcome');
    },
    outcomeOf: (asked, values = {}) => {
      answers.clear();
      return session.query(asked, values, 'outcome');
    },
  };
}

/** The statements of changes that both databases share. */
const shared = new Map<string, Prepared<unknown>>();

/** Makes changes that both databases share. */
export function sharedChanges(db: StateSession): MakeChange {
  return (change) =>
    (...args) =>
      db.changes(async (query) => {
        const steps = change(...args);
        let step = steps.next([]);
        while (!step.done) {
          const { sql, values } = step.value;
          const asked = shared.get(sql) ?? statement(sql);
          shared.set(sql, asked);
          step = steps.next(await query(asked, values));
        }
        return step.value;
      });
}

/**
 * Records an intent. If it is unknown whether the database has recorded it, takes it back, because nothing was sent. If
 * that fails too, the intent becomes ambiguous at the next start, as after a kill.
 */
export async function intend<T>(
  db: StateSession,
  begin: () => Promise<T>,
  takeBack: (query: Query) => Promise<void>,
): Promise<T> {
  try {
    return await begin();
  } catch (error) {
    if (error instanceof TroubleError) await db.changes(takeBack).catch(() => undefined);
    throw error;
  }
}
