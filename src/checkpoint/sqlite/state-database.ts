/**
 * One connection to checkpoint.db: each call is one transaction, and its errors come out in our words. A kill of
 * the process takes back none that has resolved; whether a power failure may is said where a change is made.
 */
import type { Database, RunResult } from 'better-sqlite3';
import { CheckpointStateError } from '../checkpoint-state-error.js';
import { translateStateError } from './translate-state-error.js';

export interface StateDatabase {
  /** Prepares a statement; done once, when the methods are made. */
  readonly prepare: Database['prepare'];
  /**
   * Makes a method of the port out of work that writes: one transaction, write lock taken at its start. When it
   * resolves it is on the disk, together with all that was committed before it.
   */
  change<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => Promise<R>;
  /**
   * The same without waiting for the disk, which is most of what a change costs: a power failure may take back the
   * last ones before the next `change`, never one of them without those after it. Only for a step that the next
   * start finds undone and does again for nothing, and behind which all that is sent, paid for or published begins
   * with a `change`.
   */
  redoableChange<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => Promise<R>;
  /** Makes a method of the port out of work that asks a single statement. */
  read<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => Promise<R>;
  /** The same out of several statements: one snapshot for all of them. */
  readTogether<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => Promise<R>;
  close(): Promise<void>;
}

/** Wraps an open connection, which it closes at `close`. */
export function createStateDatabase(connection: Database): StateDatabase {
  async function translated<R>(work: () => R): Promise<R> {
    try {
      return work();
    } catch (error) {
      throw translateStateError(error, connection.name);
    }
  }
  let level: 'FULL' | 'NORMAL' | undefined;
  /**
   * @param synchronous when the log is synced, whole: FULL, at each commit; NORMAL, only before it is written back
   *   to the database (sqlite.org/pragma.html#pragma_synchronous).
   */
  function committing(synchronous: NonNullable<typeof level>) {
    return <A extends unknown[], R>(work: (...args: A) => R) => {
      // The write lock first: a transaction that begins by reading fails when another process then writes.
      const { immediate } = connection.transaction(work);
      return (...args: A) =>
        translated<R>(() => {
          if (level !== synchronous) connection.exec(`PRAGMA synchronous = ${synchronous}`);
          level = synchronous;
          return immediate(...args);
        });
    };
  }
  return {
    prepare: connection.prepare.bind(connection),
    change: committing('FULL'),
    redoableChange: committing('NORMAL'),
    read:
      (work) =>
      (...args) =>
        translated(() => work(...args)),
    readTogether<A extends unknown[], R>(work: (...args: A) => R) {
      const { deferred } = connection.transaction(work);
      return (...args: A) => translated<R>(() => deferred(...args));
    },
    close: () =>
      translated(() => {
        emptyLog(connection);
        connection.close();
      }),
  };
}

/**
 * Writes the log back into the database, without waiting for others. SQLite does so where the last connection closes,
 * but not while a reader, such as the progress, still has the file open: whoever then copies or replaces the database
 * alone would leave out, or mix in, what stands in the log.
 */
function emptyLog(connection: Database): void {
  if (connection.readonly) return;
  try {
    connection.pragma('busy_timeout = 0');
    connection.pragma('wal_checkpoint(TRUNCATE)');
  } catch {
    // Nothing is lost: what is not written back stays in the log.
  }
}

// Holds a change of state to its promise: exactly one row was in the state that it leaves.

/**
 * @param result what the statement did
 * @param method the port's method, for the message
 * @param missing what was looked for and is not there
 * @throws CheckpointStateError when no row was changed; inside a transaction, which is thereby undone
 */
export function expectOne(result: RunResult, method: string, missing: string): void {
  if (result.changes !== 1) throw new CheckpointStateError(method, missing);
}
