/**
 * Notices that the files of an open database were removed or replaced. SQLite would go on writing into files without a
 * name, and what they hold is lost when the process ends.
 */
import { closeSync, existsSync, openSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { ConfigError } from '../../errors.js';
import { makeFolder } from '../../make-folder.js';

/** The database, its log, and the memory that all processes share. SQLite removes the last two with the last connection. */
const ENDS = ['', '-wal', '-shm'];

/** What follows the name of the database in the name of a copy of it. */
const SAVED = '.saved-';

/**
 * @returns a check for the time before each change. It takes some microseconds. The first time that a file is gone, it
 *   writes a copy of the whole database beside it.
 *   @throws ConfigError `CHECKPOINT_GONE`.
 */
export function watchPlace(connection: Database): () => void {
  const paths = connection.memory ? [] : ENDS.map((end) => `${connection.name}${end}`);
  const seen = new Map<string, string>();
  let gone: ConfigError | undefined;
  const check = () => {
    if (gone !== undefined) throw gone;
    for (const path of paths) {
      const found = identityOf(path);
      const known = seen.get(path);
      if (known !== undefined && known !== found) {
        gone = goneError(connection, path);
        throw gone;
      }
      if (found !== undefined) seen.set(path, found);
    }
  };
  check();
  return check;
}

/** The copies that are beside a database. @param path of the database. */
export function savedCopies(path: string): readonly string[] {
  const folder = dirname(path);
  const start = `${basename(path)}${SAVED}`;
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => name.startsWith(start)).map((name) => join(folder, name));
}

/** Does not open the file: closing it would free the locks of the connection. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}-${found.ino}`;
}

function goneError(connection: Database, path: string): ConfigError {
  const database = connection.name;
  const saved = trySave(connection);
  const what = saved === undefined ? '' : `; all that it knew is in ${saved}`;
  return new ConfigError(
    'CHECKPOINT_GONE',
    `${path} was removed or replaced while foliopipe worked; nothing more was sent${what}`,
    { facts: { path, ...(saved !== undefined && { saved, database }) } },
  );
}

/**
 * SQLite can still read the files without names. Makes the folder again if it is gone, too: it holds what is paid for.
 * @returns undefined if there is no place for the copy.
 */
function trySave(connection: Database): string | undefined {
  const saved = `${connection.name}${SAVED}${Date.now()}`;
  try {
    makeFolder(dirname(saved), 0o700);
    // SQLite writes into an empty file, and keeps its mode.
    closeSync(openSync(saved, 'wx', 0o600));
    connection.prepare('VACUUM INTO ?').run(saved);
    return saved;
  } catch {
    return undefined;
  }
}
