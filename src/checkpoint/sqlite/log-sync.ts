/**
 * Syncs the log of an open database (`-wal`) from another thread, so that a commit does not hold up the process while
 * the disk works. SQLite with `synchronous = NORMAL` writes a commit to the log without a sync; it still syncs the log
 * before it writes it back, and the database before the log is used again (sqlite.org/wal.html#performance_considerations).
 * So a commit and one sync of the log after it leave on the disk what `synchronous = FULL` leaves.
 *
 * SQLite locks the database and its shared memory, never the log. So closing this descriptor frees no lock.
 */
import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';

export interface LogSync {
  /** Why a sync has failed. */
  readonly failure: { readonly error: unknown } | undefined;
  /**
   * Resolves when all that was committed before the call is on the disk. Concurrent calls share one sync.
   * @throws the system's error. What a failed sync should have written may be lost, and a later sync would not tell.
   *   So all later calls fail too.
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
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  let failure: LogSync['failure'];

  const begin = async () => {
    if (failure !== undefined) throw failure.error;
    try {
      await syncFile(file);
    } catch (error) {
      failure = { error };
      throw error;
    } finally {
      running = undefined;
    }
  };
  return {
    get failure() {
      return failure;
    },
    sync: () => {
      if (running === undefined) {
        running = begin();
        return running;
      }
      // The running sync may have begun before the latest commit.
      next ??= running.then(() => {
        next = undefined;
        running = begin();
        return running;
      });
      return next;
    },
    close: async () => {
      await (next ?? running)?.catch(() => undefined);
      closeSync(file);
    },
  };
}
