/** Gives runs of a foliopipe that kept no journals theirs. */
import type { Database } from 'better-sqlite3';
import { createStateDatabase } from '../state-database.js';
import { writeJournalFile } from './journal-file.js';
import { journalPath } from './journal-folder.js';
import { journalOfRun } from './journal-of-run.js';
import { hasJournal } from './read-journal.js';

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
