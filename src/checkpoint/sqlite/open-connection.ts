/** Opens connections to checkpoint.db for writing, with migration of the tables. */
import { chmod, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { syncNow } from '../../make-folder.js';
import { isSqliteError } from '../../sqlite-driver.js';
import { syncFolder } from '../../streams/atomic-file.js';
import { makeJournals } from '../journal/run-journals.js';
import { migrate, refuseNewer, schemaVersion } from './migrate.js';
import { migrations } from './migrations/index.js';
import { openPrivateDatabase } from './open-private-database.js';
import { withAllPipelinesStopped } from './pipeline-lock.js';
import { damagedCheckpoint } from './translate-state-error.js';

const BUSY_TIMEOUT_MS = 10_000;
const WAL_RETRY_MS = 50;

/**
 * Opens for writing, with WAL and synchronous FULL. Creates a missing file; checks and migrates an existing one.
 * @param isChecked whether every page was checked before, and the file is as it was then.
 */
export async function openWritingConnection(path: string, isChecked = false): Promise<Database> {
  const connection = openPrivateDatabase(path, BUSY_TIMEOUT_MS);
  try {
    await switchToWal(connection);
    connection.pragma('synchronous = FULL');
    refuseNewer(connection, migrations.length);
    if (!isChecked && connection.pragma('quick_check(1)', { simple: true }) !== 'ok') {
      throw damagedCheckpoint(path);
    }
    await bringUpToDate(connection);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Copies a file of an older version, and then migrates it, while no other pipeline runs. */
async function bringUpToDate(connection: Database): Promise<void> {
  const version = schemaVersion(connection);
  if (version === 0 || version === migrations.length) return migrate(connection, migrations);
  const stateDir = dirname(connection.name);
  await withAllPipelinesStopped(stateDir, async () => {
    await copyBeforeMigration(connection, version);
    migrate(connection, migrations, () => makeJournals(connection, stateDir));
  });
}

/** Switches to WAL. Waits for another process that does the same, because SQLite itself does not wait. */
async function switchToWal(connection: Database): Promise<void> {
  for (let waited = 0; ; waited += WAL_RETRY_MS) {
    try {
      connection.pragma('journal_mode = WAL');
      return;
    } catch (error) {
      const busy = isSqliteError(error) && error.code.startsWith('SQLITE_BUSY');
      if (!busy || waited >= BUSY_TIMEOUT_MS) throw error;
      await sleep(WAL_RETRY_MS);
    }
  }
}

/** The path of the copy of a file with this version, made before its migration. */
export function copyPath(path: string, version: number): string {
  return `${path}.v${version}.bak`;
}

/**
 * Writes `checkpoint.db.v<version>.bak`, whole or not at all, and replaces the copy of an earlier attempt. No other
 * process may write to the database meanwhile.
 */
async function copyBeforeMigration(connection: Database, version: number): Promise<void> {
  const path = copyPath(connection.name, version);
  const beside = `${path}.tmp`;
  await rm(beside, { force: true });
  try {
    connection.prepare('VACUUM INTO ?').run(beside);
    await chmod(beside, 0o600);
    syncNow(beside);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
  await rename(beside, path);
  await syncFolder(dirname(path));
}
