/**
 * The journals of a state folder: `runs/<run>/paid.log`, the second record of each paid request. Invariant: a line is
 * written after the commit that it describes, so an undamaged database never lacks what a journal has. The one exception
 * is a reply that the database cannot record (`OnlyInJournalError`).
 */

import { dirname } from 'node:path';
import type { Database } from 'better-sqlite3';
import { ConfigError } from '../../errors.js';
import { countOf } from '../../quantities.js';
import { createStateDatabase, type StateDatabase } from '../sqlite/state-database.js';
import { translateStateError } from '../sqlite/translate-state-error.js';
import { type Compared, isBehind, journalComparison, type Mark } from './compare-journal.js';
import {
  hasJournal,
  type JournalFile,
  journalPath,
  openJournalFile,
  readJournal,
  writeJournalFile,
} from './journal-file.js';
import type { JournalLine, SearchJournalLine } from './journal-line.js';
import { linesFromDatabase } from './lines-from-database.js';
import { appendSearchLine, searchJournalPath } from './search-journal.js';

export interface RunJournals {
  /**
   * Adds a line after its commit, and does not wait for the disk. A line that cannot be written is written with the
   * next one. If a kill loses a line, `verify` adds it later.
   */
  append(run: string, line: JournalLine): void;
  /**
   * Adds a line, and waits until this line and all lines before it are on the disk.
   * @throws the system's error, translated by `translateStateError`.
   */
  appendDurably(run: string, line: JournalLine): Promise<void>;
  /**
   * Adds a line about a search that belongs to no run, and waits until it is on the disk.
   * @throws the system's error, translated by `translateStateError`.
   */
  appendSearchDurably(line: SearchJournalLine): Promise<void>;
  /**
   * Compares a run's journal with the database, and writes the journal again if it is outdated.
   * @returns `made` if the journal was missing or empty and was written again.
   * @throws ConfigError `CHECKPOINT_BEHIND`, `JOURNAL_DAMAGED`, `JOURNAL_NEWER`.
   */
  verify(run: string): 'whole' | 'made';
  /** Reads a run's journal; no lines if it is missing or empty. */
  lines(run: string): Iterable<JournalLine>;
  /** Writes a run's journal again, from the database. */
  rewrite(run: string): void;
  close(): Promise<void>;
}

/** Prepares the statements once. `verify` and `rewrite` need the lock of the run's pipeline. */
export function openRunJournals(stateDir: string, db: StateDatabase): RunJournals {
  const open = new Map<string, JournalFile>();
  const linesOf = linesFromDatabase(db);
  const compare = journalComparison(db);

  const closeOne = (run: string) => {
    open.get(run)?.close();
    open.delete(run);
  };
  const rewrite = (run: string) => {
    closeOne(run);
    writeJournalFile(journalPath(stateDir, run), linesOf(run));
  };
  /**
   * Writes a missing journal again before its next line. That line then repeats what the new journal has from the
   * database, which does no harm, or it has what only the journal can record.
   */
  const fileFor = (run: string): JournalFile => {
    const known = open.get(run);
    if (known?.isInPlace()) return known;
    closeOne(run);
    const path = journalPath(stateDir, run);
    if (!hasJournal(path)) writeJournalFile(path, linesOf(run));
    const file = openJournalFile(path);
    open.set(run, file);
    return file;
  };
  const withTranslatedErrors = <T>(run: string, work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw translateStateError(error, journalPath(stateDir, run));
    }
  };

  return {
    append: (run, line) => {
      try {
        fileFor(run).add(line);
      } catch {
        // The next appendDurably throws, before anything more is paid for.
      }
    },
    appendDurably: async (run, line) => {
      try {
        const file = fileFor(run);
        file.add(line);
        await file.sync();
      } catch (error) {
        throw translateStateError(error, journalPath(stateDir, run));
      }
    },
    appendSearchDurably: (line) =>
      appendSearchLine(stateDir, line).catch((error: unknown) => {
        throw translateStateError(error, searchJournalPath(stateDir));
      }),
    verify: (run) =>
      withTranslatedErrors(run, () => {
        const path = journalPath(stateDir, run);
        if (!hasJournal(path)) {
          rewrite(run);
          return 'made';
        }
        const compared = compare(run, readJournal(path));
        if (isBehind(compared)) throw behindError(stateDir, run, compared);
        if (compared.isOutdated) rewrite(run);
        return 'whole';
      }),
    lines: (run) => {
      const path = journalPath(stateDir, run);
      return hasJournal(path) ? readJournal(path) : [];
    },
    rewrite: (run) => withTranslatedErrors(run, () => rewrite(run)),
    close: async () => {
      for (const [run, file] of open) {
        await file.sync().catch(() => undefined);
        closeOne(run);
      }
    },
  };
}

const MARKS: Readonly<Record<Mark, string>> = {
  mixed: 'that more than one service has answered it',
  superseded: 'that it is superseded',
  pruned: 'that its results were removed',
};

function behindError(stateDir: string, run: string, { missing }: Compared): ConfigError {
  const { uploads, records, folios, newestFolio, searches, marks, publication } = missing;
  const more = [
    ...(uploads > 0 ? [`${countOf(uploads, 'upload')} of ${countOf(records, 'record')}`] : []),
    ...(folios > 0 ? [`${countOf(folios, 'folio')}, the newest ${newestFolio}`] : []),
    ...(searches > 0 ? [countOf(searches, 'search', 'searches')] : []),
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

/**
 * Writes the missing journals of all runs that were not pruned, because older versions kept none. Does not touch an
 * existing journal, which is compared when its run is resumed. Called within the transaction of the migration, so that
 * after a kill both are done again.
 */
export function makeJournals(connection: Database, stateDir: string): void {
  const linesOf = linesFromDatabase(createStateDatabase(connection));
  const runs = connection.prepare<[], string>('SELECT id FROM runs WHERE pruned_at IS NULL').pluck().all();
  for (const run of runs) {
    const path = journalPath(stateDir, run);
    if (!hasJournal(path)) writeJournalFile(path, linesOf(run));
  }
}
