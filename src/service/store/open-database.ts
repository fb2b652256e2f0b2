/** Opens the service's database for this process only and migrates it to the newest version. */
import { closeSync, openSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { diskError, systemError } from '../../disk-error.js';
import { ConfigError, LockedError } from '../../errors.js';
import { isSqliteError, openSqlite } from '../../sqlite-driver.js';

/**
 * Must be closed. Locks with SQLite's exclusive locking mode: the system releases the lock with the process, even after
 * kill -9.
 * @throws LockedError when another service has the file open; ConfigError when a newer version wrote it.
 */
export function openDatabase(path: string): Database {
  closeSync(openSync(path, 'a', 0o600)); // SQLite gives its WAL file the mode of this one.
  const db = openSqlite(path, { timeout: 100 });
  try {
    db.pragma('locking_mode = EXCLUSIVE');
    db.pragma('journal_mode = WAL');
    db.pragma('foreign_keys = ON');
    db.transaction(() => migrate(db, path)).immediate();
    return db;
  } catch (error) {
    db.close();
    if (!isBusy(error)) throw unusable(error, path);
    throw new LockedError('SERVICE_LOCKED', `another local service uses ${path}`, {
      hint: 'stop it, or give this one another data folder: foliopipe serve --data FOLDER; with service.embedded, another stateDir',
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
      `${path} was written by a newer foliopipe (version ${version})`,
      {
        hint: 'use the newer foliopipe, or another data folder',
        facts: { path, version, known: MIGRATIONS.length },
      },
    );
  }
  for (const step of MIGRATIONS.slice(version)) db.exec(step);
  db.pragma(`user_version = ${MIGRATIONS.length}`);
}

/** The error for a file that is no database, or that SQLite cannot write. A full disk passes. */
export function unusable(error: unknown, path: string): unknown {
  if (!isSqliteError(error)) return error;
  if (error.code === 'SQLITE_FULL') return diskError(systemError('ENOSPC', path, 'write'));
  return new ConfigError(
    'SERVICE_DATA_DIR',
    `the local service cannot use ${path}: ${error.message} (${error.code})`,
    {
      hint: 'give it another data folder, or repair this one',
      facts: { path },
      cause: error,
    },
  );
}

function isBusy(error: unknown): boolean {
  return isSqliteError(error) && error.code.startsWith('SQLITE_BUSY');
}

/** Migrations: the n-th (0-based) raises `user_version` from n to n + 1. Add new ones; never change old ones. */
export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE folios (
    id INTEGER PRIMARY KEY,
    folio TEXT NOT NULL UNIQUE,
    file_name TEXT NOT NULL,
    description TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    header BLOB NOT NULL,
    records INTEGER NOT NULL,
    segment_records INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('PROCESSING', 'FINISHED')),
    "offset" INTEGER NOT NULL,
    successful INTEGER NOT NULL,
    failed INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX folios_processing ON folios (id) WHERE status = 'PROCESSING';
  CREATE TABLE slices (
    folio_id INTEGER NOT NULL REFERENCES folios (id),
    file_status TEXT NOT NULL CHECK (file_status IN ('SUCCESSFUL', 'FAILED')),
    part INTEGER NOT NULL,
    processed INTEGER NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (folio_id, file_status, part, processed)
  ) STRICT;`,
  'ALTER TABLE folios ADD COLUMN finished_at INTEGER;',
  `ALTER TABLE folios ADD COLUMN fail_share REAL NOT NULL DEFAULT 0;
  ALTER TABLE folios ADD COLUMN fail_seed INTEGER NOT NULL DEFAULT 0;`,
];
