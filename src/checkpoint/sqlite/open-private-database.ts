/** Database files that only their owner may read: 0600. SQLite gives the same mode to `-wal`, `-shm` and `-journal`. */
import { chmodSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { openSqlite } from '../../sqlite-driver.js';

/**
 * Opens a database file for writing and creates it where it is missing. Nothing else in this process may open the file:
 * closing another handle of it would free the POSIX locks that SQLite holds. So its mode is set by path.
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
