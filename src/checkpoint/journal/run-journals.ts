/**
 * The journals of one state folder: `runs/<run>/paid.log`, the second place where each paid request is known. A
 * line follows the commit that it speaks of, so a journal never knows more than a database that is whole.
 */
import { dirname } from 'node:path';
import type { Database } from 'better-sqlite3';
import { ConfigError } from '../../errors.js';
import { createStateDatabase, type StateDatabase } from '../sqlite/state-database.js';
import { translateStateError } from '../sqlite/translate-state-error.js';
import { type Compared, isBehind, journalComparison, type Mark } from './compare-journal.js';
import { type JournalFile, openJournalFile, writeJournalFile } from './journal-file.js';
import { journalPath } from './journal-folder.js';
import type { JournalLine } from './journal-line.js';
import { journalOfRun } from './journal-of-run.js';
import { hasJournal, readJournal } from './read-journal.js';

export interface RunJournals {
  /**
   * Adds a line after its commit, and does not wait for the disk. What cannot be written waits for the next line;
   * what a kill takes away is added by `verify`.
   */
  note(run: string, line: JournalLine): void;
  /**
   * The same; on the disk when it resolves, with all lines before it.
   * @throws what `translateStateError` makes of the system's error.
   */
  keep(run: string, line: JournalLine): Promise<void>;
  /**
   * Holds a run's journal to the database, and completes or makes it where the database knows more.
   * @returns `made` where there was none, or an empty one.
   * @throws ConfigError `CHECKPOINT_BEHIND`, `JOURNAL_DAMAGED`, `JOURNAL_NEWER`.
   */
  verify(run: string): 'whole' | 'made';
  /** Writes a run's journal anew, from what the database knows. */
  rewrite(run: string): void;
  close(): Promise<void>;
}

/** @param db the statements are prepared once; `verify` and `rewrite` must not be called within a transaction. */
export function openRunJournals(stateDir: string, db: StateDatabase): RunJournals {
  const open = new Map<string, JournalFile>();
  const linesOf = journalOfRun(db);
  const compare = journalComparison(db);

  const shut = (run: string) => {
    open.get(run)?.close();
    open.delete(run);
  };
  const rewrite = (run: string) => {
    shut(run);
    writeJournalFile(journalPath(stateDir, run), linesOf(run));
  };
  /** @returns undefined where it was made just now, from a database that knows the change already. */
  const fileFor = (run: string): JournalFile | undefined => {
    const known = open.get(run);
    if (known !== undefined) return known;
    const path = journalPath(stateDir, run);
    const isThere = hasJournal(path);
    if (!isThere) rewrite(run);
    const file = openJournalFile(path);
    open.set(run, file);
    return isThere ? file : undefined;
  };
  const orOurs = <T>(run: string, work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw translateStateError(error, journalPath(stateDir, run));
    }
  };

  return {
    note: (run, line) => {
      try {
        fileFor(run)?.add(line);
      } catch {
        // The next line that is kept says so, before anything is paid for.
      }
    },
    keep: async (run, line) => {
      const file = orOurs(run, () => fileFor(run));
      file?.add(line);
      try {
        await file?.sync();
      } catch (error) {
        throw translateStateError(error, journalPath(stateDir, run));
      }
    },
    verify: (run) =>
      orOurs(run, () => {
        const path = journalPath(stateDir, run);
        if (!hasJournal(path)) {
          rewrite(run);
          return 'made';
        }
        const compared = compare(run, readJournal(path));
        if (isBehind(compared)) throw behind(stateDir, run, compared);
        if (compared.isShort) rewrite(run);
        return 'whole';
      }),
    rewrite: (run) => orOurs(run, () => rewrite(run)),
    close: async () => {
      for (const [run, file] of open) {
        await file.sync().catch(() => undefined);
        shut(run);
      }
    },
  };
}

const MARKS: Readonly<Record<Mark, string>> = {
  mixed: 'that more than one service has answered it',
  superseded: 'that it is superseded',
  pruned: 'that its results were removed',
};

function behind(stateDir: string, run: string, { missing }: Compared): ConfigError {
  const { uploads, records, folios, newestFolio, searches, marks, publication } = missing;
  const more = [
    ...(uploads > 0 ? [`${uploads} uploads of ${records} records`] : []),
    ...(folios > 0 ? [`${folios} folios, the newest ${newestFolio}`] : []),
    ...(searches > 0 ? [`${searches} searches`] : []),
    ...(publication === null ? [] : [`publication ${publication}`]),
    ...marks.map((mark) => MARKS[mark]),
  ];
  const journal = journalPath(stateDir, run);
  return new ConfigError(
    'CHECKPOINT_BEHIND',
    `the checkpoint in ${stateDir} is older than the journal of run ${run}, which also knows ${more.join(' and ')}; nothing was sent`,
    {
      facts: {
        run,
        journal,
        folder: dirname(journal),
        uploads,
        records,
        folios,
        newestFolio,
        searches,
        publication,
        marks: marks.join(' '),
      },
    },
  );
}

// Gives runs of a foliopipe that kept no journals theirs.

/**
 * For all runs that were not pruned; a journal that is there already is left alone, and held to the database when its
 * run is gone on with. Within the transaction of the migration, so that a kill leaves it to be done again.
 */
export function makeJournals(connection: Database, stateDir: string): void {
  const linesOf = journalOfRun(createStateDatabase(connection));
  const runs = connection.prepare<[], string>('SELECT id FROM runs WHERE pruned_at IS NULL').pluck().all();
  for (const run of runs) {
    const path = journalPath(stateDir, run);
    if (!hasJournal(path)) writeJournalFile(path, linesOf(run));
  }
}
