/** Opens the service's database for this process alone, brought to the newest version. */
import { closeSync, openSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { ConfigError, LockedError } from '../../errors/index.js';
import { isSqliteError, openSqlite } from '../../sqlite-driver.js';
import { MIGRATIONS } from './migrations.js';

/**
 * The lock is SQLite's exclusive locking mode: the system frees it with the process, even after kill -9.
 * @throws LockedError when another service has the file open; ConfigError when a newer version made it.
 */
export function openDatabase(path: string): Database {
  closeSync(openSync(path, 'a', 0o600)); // SQLite gives its other files the mode of this one
  const db = openSqlite(path, { timeout: 100 });
  try {
    db.pragma('locking_mode = EXCLUSIVE');
    db.pragma('journal_mode = WAL');
    db.pragma('foreign_keys = ON');
    db.transaction(() => migrate(db, path)).immediate();
    return db;
  } catch (error) {
    db.close();
    if (!isBusy(error)) throw error;
    throw new LockedError('SERVICE_LOCKED', `another local service works on ${path}`, {
      hint: 'stop it, or give this one another data folder',
      facts: { path },
      cause: error,
    });
  }
}

function migrate(db: Database, path: string): void {
  const version = Number(db.pragma('user_version', { simple: true }));
  if (version > MIGRATIONS.length) {
    throw new ConfigError(
      'SERVICE_DATA_NEWER',
      `${path} was made by a newer foliopipe (version ${version})`,
      {
        hint: 'use that foliopipe, or another data folder',
        facts: { path, version, known: MIGRATIONS.length },
      },
    );
  }
  for (const step of MIGRATIONS.slice(version)) db.exec(step);
  db.pragma(`user_version = ${MIGRATIONS.length}`);
}

function isBusy(error: unknown): boolean {
  return isSqliteError(error) && error.code.startsWith('SQLITE_BUSY');
}
