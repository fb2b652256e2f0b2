/** Database files that only their owner may read: 0600. SQLite gives the same mode to `-wal`, `-shm` and `-journal`. */
import { chmodSync, rmSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { openSqlite } from '../../sqlite-driver.js';

/**
 * Opens a database file for writing, and creates a missing one. Other code of this process must not open the file,
 * because closing a second handle frees the POSIX locks that SQLite holds. So the mode is set by path.
 * @param timeoutMs how long a statement waits for the lock of another process.
 */
export function openPrivateDatabase(path: string, timeoutMs: number): Database {
  const connection = openSqlite(path, { timeout: timeoutMs });
  try {
    chmodSync(path, 0o600);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** What follows the path of a database in the names of its files. */
export const DATABASE_ENDS = ['', '-wal', '-shm', '-journal'];

/** Removes a database with the files beside it. */
export function removeDatabase(path: string): void {
  for (const end of DATABASE_ENDS) rmSync(`${path}${end}`, { force: true });
}
