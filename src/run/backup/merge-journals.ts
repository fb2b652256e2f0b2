/** Compares a journal in a backup with the one that is still in the state folder: which of them knows what was paid? */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readJournal } from '../../checkpoint/journal/journal-file.js';
import { ConfigError } from '../../errors.js';

/** Which journal the restored state takes. `same`: both know the same. */
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

/** What a journal knows to be paid for, or perhaps. Damaged lines are left out. */
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
