/**
 * Rebuilds a checkpoint beside the old one, which is lost, damaged or an old copy, and then replaces the old one as a
 * whole. The rebuild starts from a copy of the old one if that is readable. The old files are kept.
 */
import { chmodSync, copyFileSync, existsSync, linkSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { syncNow } from '../../make-folder.js';
import { isSqliteError } from '../../sqlite-driver.js';
import { syncFolder } from '../../streams/atomic-file.js';
import type { Segment } from '../../types.js';
import { type Compared, journalComparison } from '../journal/compare-journal.js';
import { journalPath, readJournal, writeJournalFile } from '../journal/journal-file.js';
import { linesFromDatabase } from '../journal/lines-from-database.js';
import { makeJournals } from '../journal/run-journals.js';
import { addSegment } from '../rows/publication-changes.js';
import { migrate, refuseNewer } from '../sqlite/migrate.js';
import { migrations } from '../sqlite/migrations/index.js';
import { DATABASE_ENDS, openPrivateDatabase, removeDatabase } from '../sqlite/open-private-database.js';
import { changeSteps, createStateDatabase } from '../sqlite/state-database.js';
import { singleSearchInsertion } from '../sqlite/tables/searches.js';
import type { SingleSearch } from '../state.js';
import { type DamagedLine, damageCheck } from './damaged-lines.js';
import { type FoundParts, publicationInsertion, runInsertion } from './insert-run.js';
import type { RebuiltRun } from './rebuilt-run.js';

/** The state of the old checkpoint. An empty file counts as `missing`. */
export type BaseState = 'whole' | 'damaged' | 'missing';

export interface RecoveredDatabase {
  readonly base: BaseState;
  /** The ids of the runs in the old checkpoint, oldest first. */
  readonly known: readonly string[];
  /**
   * Compares a known run with the readable lines of its journal. `doubt` says why the damaged lines may hold more than
   * the old checkpoint knows; null if they do not.
   */
  compare(run: string): Compared & { readonly isDamaged: boolean; readonly doubt: string | null };
  /**
   * Writes the journal of a known run again, and keeps the old journal.
   * @returns the path of the old journal.
   */
  renewJournal(run: string, at: number): string;
  put(run: RebuiltRun, partsOf: ReadonlyMap<number, FoundParts>): Promise<void>;
  /** Must be called after `put` of all runs. */
  putPublications(runs: readonly RebuiltRun[]): Promise<void>;
  /** Adds the searches that belong to no run and have no row. @returns how many there were. */
  putSingleSearches(searches: readonly SingleSearch[]): Promise<number>;
  /** The rows of the segments in the old checkpoint. */
  readonly segments: readonly Segment[];
  putSegments(segments: readonly Segment[]): Promise<void>;
  /**
   * Replaces the old checkpoint, and writes missing journals.
   * @param at epoch milliseconds, part of the names under which the old files are kept.
   * @returns the new paths of the old files; empty if there were none.
   */
  putInPlace(at: number): Promise<readonly string[]>;
  /** Removes the rebuilt checkpoint. The old one stays in place. */
  discard(): void;
}

/**
 * No pipeline may be running in the folder.
 * @throws ConfigError `CHECKPOINT_NEWER`
 */
export function openRecoveredDatabase(stateDir: string): RecoveredDatabase {
  const path = join(stateDir, 'checkpoint.db');
  const beside = `${path}.recovering`;
  removeDatabase(beside);
  const { connection, base } = openBase(path, beside);
  const db = createStateDatabase(connection);
  const put = runInsertion(db);
  const compare = journalComparison(db);
  const doubtOf = damageCheck(db);
  const linesOf = linesFromDatabase(db);
  const putPublications = publicationInsertion(db);
  const take = changeSteps(db);
  return {
    base,
    known: connection.prepare<[], string>('SELECT id FROM runs ORDER BY rowid').pluck().all(),
    compare: (run) => {
      const path = journalPath(stateDir, run);
      const damaged: DamagedLine[] = [];
      const lines = readJournal(path, (line, text) => damaged.push({ line, text }));
      const compared = compare(run, lines);
      return { ...compared, isDamaged: damaged.length > 0, doubt: doubtOf(run, path, damaged) };
    },
    renewJournal: (run, at) => {
      const journal = journalPath(stateDir, run);
      const aside = asidePath(journal, at);
      keepCopy(journal, aside);
      writeJournalFile(journal, linesOf(run));
      return aside;
    },
    put,
    putPublications,
    putSingleSearches: singleSearchInsertion(db),
    segments: connection
      .prepare<[], string>('SELECT segment FROM segments')
      .pluck()
      .all()
      .map((json) => JSON.parse(json) as Segment),
    putSegments: db.change((segments) => {
      for (const segment of segments) take(addSegment(segment));
    }),
    putInPlace: async (at) => {
      makeJournals(connection, stateDir);
      // Makes it a single file, without a log beside it.
      connection.pragma('journal_mode = DELETE');
      connection.close();
      syncNow(beside);
      const aside = setAside(path, at);
      renameSync(beside, path);
      await syncFolder(dirname(path));
      return aside;
    },
    discard: () => {
      connection.close();
      removeDatabase(beside);
    },
  };
}

function openBase(path: string, beside: string): { readonly connection: Database; readonly base: BaseState } {
  let base: BaseState = 'missing';
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0) {
    copyFileSync(path, beside);
    if (existsSync(`${path}-wal`)) copyFileSync(`${path}-wal`, `${beside}-wal`);
    const connection = openIfWhole(beside);
    if (connection !== undefined) return { connection, base: 'whole' };
    removeDatabase(beside);
    base = 'damaged';
  }
  const connection = openPrivateDatabase(beside, 0);
  migrate(connection, migrations);
  return { connection, base };
}

/** SQLite errors that do not mean a damaged file: the disk, the memory or a limit of this process has failed. */
const OF_MACHINE = /^SQLITE_(?:FULL|IOERR|CANTOPEN|NOMEM)/;

/** @returns undefined if it is damaged, or no database. */
function openIfWhole(path: string): Database | undefined {
  let connection: Database | undefined;
  try {
    chmodSync(path, 0o600);
    connection = openPrivateDatabase(path, 0);
    refuseNewer(connection, migrations.length);
    if (connection.pragma('quick_check(1)', { simple: true }) === 'ok') {
      migrate(connection, migrations);
      return connection;
    }
  } catch (error) {
    if (!isSqliteError(error) || OF_MACHINE.test(error.code)) {
      connection?.close();
      removeDatabase(path);
      throw error;
    }
  }
  connection?.close();
  return undefined;
}

/**
 * Keeps the old files under other names. The database also keeps its own name until it is replaced. The old log is
 * renamed, because it must never lie beside the new database.
 */
function setAside(path: string, at: number): readonly string[] {
  const aside = asidePath(path, at);
  const kept: string[] = [];
  for (const end of DATABASE_ENDS) {
    if (!existsSync(`${path}${end}`)) continue;
    rmSync(`${aside}${end}`, { force: true });
    if (end === '') keepCopy(path, aside);
    else renameSync(`${path}${end}`, `${aside}${end}`);
    kept.push(`${aside}${end}`);
  }
  return kept;
}

function asidePath(path: string, at: number): string {
  return `${path}${asideEnding(at, 'bak')}`;
}

/** The ending of a file that is kept beside the one that replaces it. To the millisecond, so that no other one has it. */
export function asideEnding(at: number, kind: 'bak' | 'replaced'): string {
  return `.${new Date(at).toISOString().replaceAll(/[-:.]/g, '')}.${kind}`;
}

/** Keeps a file under a second name: as a hard link, or as a copy if the file system has no hard links. */
function keepCopy(path: string, aside: string): void {
  try {
    linkSync(path, aside);
  } catch {
    copyFileSync(path, aside);
  }
}
