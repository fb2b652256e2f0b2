/** Copies checkpoint.db while runs write to it, and checks copies. Takes no lock and does not wait for other writers. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { freeSpaceAt } from '../../disk-error.js';
import { ConfigError } from '../../errors.js';
import { isSqliteError, openSqlite } from '../../sqlite-driver.js';
import type { RunState } from '../state.js';
import { refuseNewer, schemaVersion } from './migrate.js';
import { migrations } from './migrations/index.js';
import { openForReading } from './open-for-reading.js';
import { openPrivateDatabase } from './open-private-database.js';
import { refuseLost } from './refuse-lost.js';
import { damagedCheckpoint, translateStateError } from './translate-state-error.js';

export interface CopiedDatabase {
  /** The version of its tables. */
  readonly version: number;
  /** All runs, oldest first. */
  readonly runs: readonly {
    readonly run: string;
    readonly pipeline: string;
    readonly state: RunState;
    readonly createdAt: number;
    readonly uploads: number;
  }[];
  /** Ids of the segments that it names. */
  readonly segments: readonly string[];
  /** The newest publication of each pipeline at each path. */
  readonly publications: readonly {
    readonly pipeline: string;
    readonly path: string;
    readonly number: number;
  }[];
  /** For each run, what is recorded as paid or perhaps paid. */
  readonly paid: readonly PaidCounts[];
  /** Searches that belong to no run. */
  readonly singleSearches: number;
}

/** Rows of paid requests of a run. */
export interface PaidCounts {
  readonly run: string;
  readonly uploads: number;
  /** How many of the uploads have a folio. */
  readonly folios: number;
  readonly searches: number;
}

/** More pages than a database can have, so that one step copies one snapshot, however often others commit. */
const ALL_PAGES = 0x7fffffff;

/**
 * Writes a snapshot of `<stateDir>/checkpoint.db`, including what is still in its log, as a single file.
 * @param to a path at which there is no file.
 * @throws ConfigError `STATE_MISSING`, `CHECKPOINT_LOST`, `CHECKPOINT_NEWER`, `CHECKPOINT_DAMAGED`, TroubleError.
 */
export async function copyDatabase(stateDir: string, to: string): Promise<CopiedDatabase> {
  const path = join(stateDir, 'checkpoint.db');
  try {
    await refuseLost(path);
    if (!existsSync(path)) {
      throw new ConfigError('STATE_MISSING', `${stateDir} holds no state`, { facts: { stateDir } });
    }
    await writeCopy(path, to);
  } catch (error) {
    throw translateStateError(error, path);
  }
  try {
    const copy = openPrivateDatabase(to, 0);
    try {
      // Makes the copy a single file, without a log beside it.
      copy.pragma('journal_mode = DELETE');
      return examine(copy, path);
    } finally {
      copy.close();
    }
  } catch (error) {
    throw translateStateError(error, to);
  }
}

async function writeCopy(path: string, to: string): Promise<void> {
  const source = openForReading(path);
  try {
    refuseNewer(source, migrations.length);
    await source.backup(to, { progress: () => ALL_PAGES });
  } catch (error) {
    // SQLite does not say which of both files it could not write.
    const isFull = isSqliteError(error) && (error.code === 'SQLITE_FULL' || freeSpaceAt(to)?.bytes === 0);
    throw isFull ? translateStateError(error, to) : error;
  } finally {
    source.close();
  }
}

/**
 * Reads every page of a copy, and follows every reference in it. Writes nothing.
 * @throws ConfigError `CHECKPOINT_DAMAGED`, `CHECKPOINT_NEWER`.
 */
export function checkDatabaseCopy(path: string): CopiedDatabase {
  try {
    const copy = openSqlite(path, { readonly: true, fileMustExist: true });
    try {
      refuseNewer(copy, migrations.length);
      return examine(copy, path);
    } finally {
      copy.close();
    }
  } catch (error) {
    throw translateStateError(error, path);
  }
}

/** @param path of the database that is copied, for messages. */
function examine(copy: Database, path: string): CopiedDatabase {
  const isWhole = copy.pragma('integrity_check(1)', { simple: true }) === 'ok';
  if (!isWhole || (copy.pragma('foreign_key_check') as unknown[]).length > 0) {
    throw damagedCheckpoint(path);
  }
  const version = schemaVersion(copy);
  if (version === 0) {
    return { version, runs: [], segments: [], publications: [], paid: [], singleSearches: 0 };
  }
  const runs = copy
    .prepare<[], CopiedDatabase['runs'][number]>(`
      SELECT id AS run, pipeline, state, created_at AS createdAt,
        (SELECT count(*) FROM uploads WHERE uploads.run = runs.id) AS uploads
      FROM runs ORDER BY rowid`)
    .all();
  const publications =
    version < 3
      ? []
      : copy
          .prepare<[], CopiedDatabase['publications'][number]>(
            'SELECT pipeline, path, max(number) AS number FROM publications GROUP BY pipeline, path',
          )
          .all();
  const segments =
    version < 4 ? [] : copy.prepare<[], string>('SELECT id FROM segments ORDER BY id').pluck().all();
  const searches =
    version < 2 ? '0' : '(SELECT count(DISTINCT record) FROM searches WHERE searches.run = runs.id)';
  const paid = copy
    .prepare<[], PaidCounts>(`
      SELECT id AS run, ${searches} AS searches,
        (SELECT count(*) FROM uploads WHERE uploads.run = runs.id) AS uploads,
        (SELECT count(folio) FROM uploads WHERE uploads.run = runs.id) AS folios
      FROM runs`)
    .all();
  const singleSearches =
    version < 5 ? 0 : copy.prepare<[], number>('SELECT count(*) FROM single_searches').pluck().get()!;
  return { version, runs, segments, publications, paid, singleSearches };
}
