/** Opens a database for reading, also on a read-only file system. */

import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Database } from 'better-sqlite3';
import { openSqlite } from '../../sqlite-driver.js';
import { codeOf } from '../../streams/system-error.js';
import { refuseNewer, refuseOlder, schemaVersion } from './migrate.js';
import { migrations } from './migrations/index.js';

const BUSY_TIMEOUT_MS = 10_000;

/** Two bytes of a file's header say whether it has a log (sqlite.org/fileformat.html#file_format_version_numbers). */
const VERSIONS = [18, 19];
const WITHOUT_LOG = 1;

/**
 * Opens checkpoint.db for reading only.
 * @returns undefined while there are no tables yet.
 */
export function openReadingConnection(path: string): Database | undefined {
  const connection = openForReading(path);
  try {
    if (schemaVersion(connection) === 0) {
      connection.close();
      return undefined;
    }
    refuseNewer(connection, migrations.length);
    refuseOlder(connection, migrations.length);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * SQLite makes files beside a database with a log, even to read it. Where nothing can be made, the file is read into
 * memory: on a read-only file system nobody writes to it. A log that holds changes cannot be read that way.
 * @throws the error of SQLite, or of the system.
 */
export function openForReading(path: string): Database {
  const isWhole = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0;
  if (!isWhole || !isReadOnlyDisk(dirname(path))) {
    return openSqlite(path, { timeout: BUSY_TIMEOUT_MS, readonly: true, fileMustExist: true });
  }
  const bytes = readFileSync(path);
  for (const at of VERSIONS) if (at < bytes.length) bytes[at] = WITHOUT_LOG;
  return openSqlite(bytes, { readonly: true });
}

function isReadOnlyDisk(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return false;
  } catch (error) {
    return codeOf(error) === 'EROFS';
  }
}
