/**
 * Notices that the files of an open database were removed or replaced. SQLite would go on writing into files without a
 * name, and what they hold is lost when the process ends.
 */
import { rmSync, statSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { ConfigError } from '../../errors.js';

/** The database, its log, and the memory that all processes share. SQLite removes the last two with the last connection. */
const ENDS = ['', '-wal', '-shm'];

/**
 * @returns a check for the time before each change. It takes some microseconds. When a file is gone, it writes a copy of
 *   the whole database to `<path>.saved`.
 *   @throws ConfigError `CHECKPOINT_GONE`.
 */
export function watchPlace(connection: Database): () => void {
  const paths = connection.memory ? [] : ENDS.map((end) => `${connection.name}${end}`);
  const seen = new Map<string, string>();
  const check = () => {
    for (const path of paths) {
      const found = identityOf(path);
      const known = seen.get(path);
      if (known !== undefined && known !== found) throw goneError(connection, path);
      if (found !== undefined) seen.set(path, found);
    }
  };
  check();
  return check;
}

/** Does not open the file: closing it would free the locks of the connection. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}-${found.ino}`;
}

function goneError(connection: Database, path: string): ConfigError {
  const saved = `${connection.name}.saved`;
  const hasCopy = trySave(connection, saved);
  const what = hasCopy ? `; a copy of all that it knew is ${saved}` : '';
  return new ConfigError(
    'CHECKPOINT_GONE',
    `${path} was removed or replaced while foliopipe worked; nothing more was sent${what}`,
    { facts: { path, ...(hasCopy && { saved, database: connection.name }) } },
  );
}

/** SQLite can still read the files without names. @returns false if there is no place for the copy. */
function trySave(connection: Database, saved: string): boolean {
  try {
    rmSync(saved, { force: true });
    connection.prepare('VACUUM INTO ?').run(saved);
    return true;
  } catch {
    return false;
  }
}
