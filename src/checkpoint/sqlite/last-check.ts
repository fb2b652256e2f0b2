/**
 * Avoids the check of every page at each opening: `checkpoint.db.checked` says that the file was checked, and has been
 * changed only by processes that closed it properly. A file that was copied, restored, edited, cut short, or left by a
 * killed process has another stamp or a log, and is checked. Damage by the disk itself changes no stamp: SQLite notices
 * much of it when it reads the page, and the next check finds the rest.
 */
import { type BigIntStats, readFileSync, statSync, writeFileSync } from 'node:fs';
import { stampAt, toStamp } from '../../streams/file-identity.js';

/** Whether there are changes that are not written back into the file. */
function hasLog(database: string): boolean {
  return (statSync(`${database}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** How old a check may become, in ms. */
const MAX_AGE = 7 * 24 * 3600 * 1000;

const pathOf = (database: string) => `${database}.checked`;

/**
 * Must be called before SQLite opens the file.
 * @returns when the file was checked, in epoch milliseconds; undefined if it must be checked now.
 */
export function lastCheck(database: string, now: number): number | undefined {
  if (hasLog(database)) return undefined;
  try {
    const [stamp, time] = readFileSync(pathOf(database), 'utf8').split('\n');
    const at = Number(time);
    const isNew = at <= now && now - at < MAX_AGE;
    return isNew && stamp === stampAt(database) ? at : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Must be called when this process has closed the file without trouble. Does nothing if another file has taken its place,
 * or if others have written to its log since.
 * @param opened what this process has opened.
 * @param checkedAt epoch milliseconds.
 */
export function rememberCheck(database: string, { dev, ino }: BigIntStats, checkedAt: number): void {
  try {
    const found = statSync(database, { bigint: true });
    if (found.dev !== dev || found.ino !== ino || hasLog(database)) return;
    writeFileSync(pathOf(database), `${toStamp(found)}\n${checkedAt}\n`, { mode: 0o600 });
  } catch {
    // The next opening checks the file.
  }
}
