/** Database files that only their owner may read: 0600; the `-wal`, `-shm` and `-journal` follow suit. */
import { chmodSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { openSqlite } from '../../sqlite-driver.js';

/**
 * Opens a database file for writing, making it where it is missing. Nothing else in this process may open it:
 * closing a handle of another kind would free the POSIX locks that SQLite holds (hence chmod by path).
 * @param timeoutMs how long a statement waits for another process's lock
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
