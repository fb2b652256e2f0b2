/** What the journals in a backup, and those that are left in a state folder, know of the requests that were paid. */
import { closeSync, existsSync, fstatSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { runsWithFiles } from '../../checkpoint/journal/files-in-state.js';
import { journalPath, readJournal, wholeLength } from '../../checkpoint/journal/journal-file.js';
import { readSearchJournal } from '../../checkpoint/journal/search-journal.js';
import {
  type CopiedDatabase,
  checkDatabaseCopy,
  type PaidCounts,
} from '../../checkpoint/sqlite/copy-database.js';
import { refuseLost } from '../../checkpoint/sqlite/refuse-lost.js';
import { ConfigError } from '../../errors.js';
import { DATABASE } from './backup-files.js';
import { isRestored } from './restored-mark.js';

/** Which journal the restored state takes: the one that knows more payments. `same`: both know the same. */
export type JournalChoice = 'backup' | 'state' | 'same';

/**
 * @param path of the journal, relative to both folders.
 * @throws ConfigError `RESTORE_JOURNALS_DIFFER` when each of them knows of payments that the other one does not.
 */
export function chooseJournal(backup: string, stateDir: string, path: string): JournalChoice {
  if (!existsSync(join(stateDir, path))) return 'backup';
  const backedUp = paymentsIn(join(backup, path));
  const left = paymentsIn(join(stateDir, path));
  const isLeftWhole = [...backedUp].every((payment) => left.has(payment));
  const isBackupWhole = [...left].every((payment) => backedUp.has(payment));
  if (isLeftWhole && isBackupWhole) return 'same';
  if (isLeftWhole) return 'state';
  if (isBackupWhole) return 'backup';
  throw new ConfigError(
    'RESTORE_JOURNALS_DIFFER',
    `${join(stateDir, path)} and ${join(backup, path)} each know of payments that the other one does not`,
    {
      hint: 'nothing was restored; restore into another folder (--state-dir), or use a newer backup',
      facts: { path },
    },
  );
}

/** The requests that were, or may have been, paid for, as a journal knows them. Damaged lines are left out. */
function paymentsIn(path: string): ReadonlySet<string> {
  const payments = new Set<string>();
  for (const line of readJournal(path, () => undefined)) {
    if (line.type === 'intent') payments.add(`upload ${line.chunk} ${line.attempt} ${line.fileName}`);
    if (line.type === 'accepted' || line.type === 'adopted')
      payments.add(`folio ${line.chunk} ${line.folio}`);
    if (line.type === 'search') payments.add(`search ${line.record}`);
  }
  return payments;
}

/**
 * Whether what is left of a state folder knows everything that was paid. Journals cannot prove it by themselves, because
 * a lost journal, or its lost end, leaves no trace. So the database of the same state must be left, too, undamaged and in
 * agreement with them. A database that lacks what the backup knows is another one: that of a new state, which a night has
 * begun after the old one was lost, or an older copy. A state that was restored before counts as one that does not know
 * everything. Sends and changes nothing.
 */
export async function knowsPayments(stateDir: string, backup: CopiedDatabase): Promise<boolean> {
  const path = join(stateDir, DATABASE);
  if (isRestored({ stateDir }) || !existsSync(path)) return false;
  try {
    await refuseLost(path);
    const { paid, singleSearches } = checkDatabaseCopy(path);
    const known = new Map(paid.map((counts) => [counts.run, counts]));
    if (runsWithFiles(stateDir).some((run) => !known.has(run))) return false;
    if (singleSearches < backup.singleSearches) return false;
    if (!backup.paid.every((then) => isSuccessor(known.get(then.run), then))) return false;
    if (readSearchJournal(stateDir).size !== singleSearches) return false;
    return paid.every((counts) => knowsTheSame(journalPath(stateDir, counts.run), counts));
  } catch {
    // A state that cannot be read proves nothing.
    return false;
  }
}

/** An intent may be taken back, because nothing was sent; a folio or a search never is. */
function isSuccessor(now: PaidCounts | undefined, then: PaidCounts): boolean {
  return now !== undefined && now.folios >= then.folios && now.searches >= then.searches;
}

/** Whether a state folder holds no run, search or answer, because the night that made it ended before it paid. */
export function holdsNothing(stateDir: string): boolean {
  const path = join(stateDir, DATABASE);
  if (!existsSync(path)) return false;
  try {
    const { runs, segments, singleSearches } = checkDatabaseCopy(path);
    return runs.length + segments.length + singleSearches + runsWithFiles(stateDir).length === 0;
  } catch {
    return false;
  }
}

/** @throws ConfigError `JOURNAL_DAMAGED`, `JOURNAL_NEWER`. */
function knowsTheSame(path: string, { uploads, folios, searches }: PaidCounts): boolean {
  if (!existsSync(path)) return uploads + searches === 0;
  if (isLastLineCut(path)) return false;
  const known = { uploads: new Set<string>(), folios: new Set<string>(), searches: new Set<number>() };
  for (const line of readJournal(path)) {
    if (line.type === 'intent') known.uploads.add(`${line.chunk} ${line.attempt}`);
    if (line.type === 'accepted' || line.type === 'adopted')
      known.folios.add(`${line.chunk} ${line.attempt}`);
    if (line.type === 'search') known.searches.add(line.record);
  }
  return known.uploads.size === uploads && known.folios.size === folios && known.searches.size === searches;
}

function isLastLineCut(path: string): boolean {
  const file = openSync(path, 'r');
  try {
    return wholeLength(file) !== fstatSync(file).size;
  } finally {
    closeSync(file);
  }
}
