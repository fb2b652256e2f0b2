/**
 * One connection to checkpoint.db. Each call is one transaction, and its errors are translated (translate-state-error).
 * A kill of the process undoes no call that has resolved; a power failure may undo an `unsyncedChange`.
 */
import type { Database, RunResult } from 'better-sqlite3';
import { CheckpointStateError } from '../checkpoint-state-error.js';
import { translateStateError } from './translate-state-error.js';

export interface StateDatabase {
  /** Prepares a statement; done once, when the methods are made. */
  readonly prepare: Database['prepare'];
  /**
   * Makes a method of the port from work that writes: one transaction, which takes the write lock at its start. When its
   * promise resolves, the change is on the disk, and so is everything that was committed before it.
   */
  change<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => Promise<R>;
  /**
   * The same without waiting for the disk, which is most of the cost of a change. A power failure may undo the last of
   * these changes, up to the latest `change`, and always the newest ones first. Only for a step that the next start
   * makes again without paying, and only if whatever is sent, paid for or published later begins with a `change`.
   */
  unsyncedChange<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => Promise<R>;
  /** Makes a method of the port from work that reads with a single statement. */
  read<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => Promise<R>;
  /** The same for several statements, which see one snapshot. */
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
   * @param synchronous when the whole log is synced. FULL: at each commit. NORMAL: only before it is written back to the
   *   database (sqlite.org/pragma.html#pragma_synchronous).
   */
  function committing(synchronous: NonNullable<typeof level>) {
    return <A extends unknown[], R>(work: (...args: A) => R) => {
      // Takes the write lock first: a transaction that begins with a read fails when another process writes meanwhile.
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
    unsyncedChange: committing('NORMAL'),
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
 * Writes the log back into the database, without waiting for other processes. SQLite does this when the last connection
 * closes, but not while a reader, such as the progress, has the file open. A copy of the database alone would then lack
 * what is in the log.
 */
function emptyLog(connection: Database): void {
  if (connection.readonly) return;
  try {
    connection.pragma('busy_timeout = 0');
    connection.pragma('wal_checkpoint(TRUNCATE)');
  } catch {
    // Nothing is lost: what was not written back stays in the log.
  }
}

/**
 * Throws unless exactly one row was changed; within a transaction, this rolls it back.
 * @param result of the statement
 * @param method of the port, for the message
 * @param missing the row that was expected, for the message
 * @throws CheckpointStateError
 */
export function expectOneRow(result: RunResult, method: string, missing: string): void {
  if (result.changes !== 1) throw new CheckpointStateError(method, missing);
}
