/**
 * One connection to checkpoint.db: its statements and transactions, and the sync of its log. Each call is one
 * transaction, and its errors are translated (translate-state-error). Before a change that waits for the disk, it
 * checks that the files are still in place (watch-place). A resolved call survives a kill of the process; a power
 * failure may undo an `unsyncedChange`.
 *
 * A change is committed before its call returns, so reads and other processes see it before it is on the disk. Code
 * that acts on what it has read must first make a `change` of its own, which reaches the disk only together with all
 * earlier ones.
 */

import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Database, RunResult, Statement } from 'better-sqlite3';
import { shareRuns } from '../../streams/share-runs.js';
import { CheckpointStateError } from '../checkpoint-errors.js';
import type { Asked, Change } from '../rows/change.js';
import { translateStateError } from './translate-state-error.js';
import { watchPlace } from './watch-place.js';

export interface StateDatabase {
  /** Makes a statement. Called once for each. */
  readonly prepare: Database['prepare'];
  /**
   * Makes a method of the port from work that writes, as one transaction that takes the write lock at its start. When
   * its promise resolves, the change and all earlier changes are on the disk.
   */
  change<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => Promise<R>;
  /**
   * Like `change`, without the wait for the disk, which takes most of the time of a change. A power failure may undo
   * the newest of these changes, but none from before the latest `change`. Only for a step that the next start repeats
   * without paying; and each later step that sends, pays or publishes must begin with a `change`.
   */
  unsyncedChange<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => Promise<R>;
  /**
   * Like `change`, for the outcome of a paid request. If the files were removed while the request was in flight, the
   * outcome is committed nevertheless, and the copy of the database has it. Fails only if the copy cannot be written.
   */
  outcomeChange<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => Promise<R>;
  /** Makes a method of the port from work that reads with a single statement. */
  read<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => Promise<R>;
  /** Like `read`, for several statements, which all see one snapshot. */
  readTogether<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => Promise<R>;
  /** @throws ConfigError `CHECKPOINT_GONE` if the files were removed; the copy of the database is then written. */
  close(): Promise<void>;
}

/**
 * Wraps an open connection. `close` closes the connection, and the log.
 * @param log syncs what is committed. Without it, the connection decides when its changes are on the disk.
 */
export function createStateDatabase(connection: Database, log?: LogSync): StateDatabase {
  async function translated<R>(work: () => R | Promise<R>): Promise<R> {
    try {
      return await work();
    } catch (error) {
      throw translateStateError(error, connection.name);
    }
  }
  if (log !== undefined) connection.pragma('synchronous = NORMAL');
  const place = connection.readonly ? undefined : watchPlace(connection);
  /**
   * @param isSynced whether it waits until the change is on the disk.
   * @param isOutcome whether it is committed even without the files.
   */
  function committing({ isSynced, isOutcome = false }: { isSynced: boolean; isOutcome?: boolean }) {
    return <A extends unknown[], R>(work: (...args: A) => R) => {
      // Takes the write lock at once, because a transaction that begins with a read fails if another process writes
      // then.
      const { immediate } = connection.transaction(work);
      return (...args: A) =>
        translated(async () => {
          // An unsynced change need not look: a synced one looks at the files before anything is sent or published.
          if (!isOutcome) place?.expectInPlace({ looks: isSynced });
          if (log?.failure !== undefined) throw log.failure.error;
          const result = immediate(...args);
          const isKept = isOutcome && place?.keepIfGone() === true;
          if (isSynced && !isKept) await log?.sync();
          return result;
        });
    };
  }
  return {
    prepare: connection.prepare.bind(connection),
    change: committing({ isSynced: true }),
    unsyncedChange: committing({ isSynced: false }),
    outcomeChange: committing({ isSynced: true, isOutcome: true }),
    read:
      (work) =>
      (...args) =>
        translated(() => work(...args)),
    readTogether<A extends unknown[], R>(work: (...args: A) => R) {
      const { deferred } = connection.transaction(work);
      return (...args: A) => translated<R>(() => deferred(...args));
    },
    close: () =>
      translated(async () => {
        try {
          // Nothing may have changed since the files were removed: then nothing has saved what they held.
          place?.expectInPlace({ looks: true });
        } finally {
          await log?.close();
          // After a failed sync, what the log holds on the disk is not certain: the next start reads and checks it.
          if (log?.failure === undefined) emptyLog(connection);
          connection.close();
        }
      }),
  };
}

/**
 * Writes the log back into the database, without waiting for other processes. SQLite does this when the last connection
 * closes, but not while a reader (for example the progress) has the file open. Then a copy of only the database file
 * would lack the changes in the log.
 */
function emptyLog(connection: Database): void {
  if (connection.readonly) return;
  try {
    connection.pragma('busy_timeout = 0');
    connection.pragma('wal_checkpoint(TRUNCATE)');
  } catch {
    // No change is lost: the log keeps what was not written back.
  }
}

/**
 * Takes the steps of changes that both databases share. Each statement is prepared when a step asks for it first.
 * @returns a function that must be called within a transaction.
 */
export function changeSteps(db: Pick<StateDatabase, 'prepare'>): <R>(change: Change<R>) => R {
  const statements = new Map<string, Statement<[object]>>();
  const rowsOf = ({ sql, values }: Asked): readonly unknown[] => {
    const statement = statements.get(sql) ?? db.prepare<[object]>(sql);
    statements.set(sql, statement);
    if (statement.reader) return statement.all(values);
    statement.run(values);
    return [];
  };
  return (change) => {
    let step = change.next([]);
    while (!step.done) step = change.next(rowsOf(step.value));
    return step.value;
  };
}

/**
 * Throws unless exactly one row was changed; within a transaction, this rolls it back.
 * @param result the result of the statement.
 * @param method the method of the port, for the message.
 * @param missing what is wrong if no row was changed, for the message.
 * @throws CheckpointStateError when the number of changed rows is not 1.
 */
export function expectOneRow(result: RunResult, method: string, missing: string): void {
  if (result.changes !== 1) throw new CheckpointStateError(method, missing);
}

/**
 * Syncs the log of an open database (`-wal`) from another thread, so that a commit does not hold up the process while
 * the disk works. SQLite with `synchronous = NORMAL` writes a commit to the log without a sync; it still syncs the log
 * before it writes it back, and the database before the log is used again
 * (sqlite.org/wal.html#performance_considerations). So a commit and one sync of the log after it leave on the disk what
 * `synchronous = FULL` leaves.
 *
 * SQLite locks the database and its shared memory, never the log. So closing this descriptor frees no lock.
 */
interface LogSync {
  /** Why a sync has failed. */
  readonly failure: { readonly error: unknown } | undefined;
  /**
   * Resolves when all that was committed before the call is on the disk. Concurrent calls share one sync.
   * @throws the system's error. Changes of a failed sync may be lost, and a later sync would not report that. So all
   *   later calls fail too.
   */
  sync(): Promise<void>;
  /** Waits for a running sync. */
  close(): Promise<void>;
}

/**
 * Opens the log of a database that this process has opened in WAL mode: SQLite keeps the same file until the last
 * connection is closed.
 * @param path of the database.
 * @param syncFile replaced in tests.
 * @throws the system's error.
 */
export function openLogSync(
  path: string,
  syncFile: (file: number) => Promise<void> = promisify(fdatasync),
): LogSync {
  // Windows syncs only what is open for writing.
  const file = openSync(`${path}-wal`, 'r+');
  let failure: LogSync['failure'];
  let last = Promise.resolve();
  const syncLog = shareRuns(async () => {
    if (failure !== undefined) throw failure.error;
    try {
      await syncFile(file);
    } catch (error) {
      failure = { error };
      throw error;
    }
  });
  return {
    get failure() {
      return failure;
    },
    sync: () => {
      last = syncLog(path);
      return last;
    },
    close: async () => {
      await last.catch(() => undefined);
      closeSync(file);
    },
  };
}
