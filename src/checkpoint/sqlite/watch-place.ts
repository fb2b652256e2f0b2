/**
 * Notices that the files of an open database were removed or replaced. SQLite would go on writing into files without a
 * name, and what they hold is lost when the process ends.
 */

import {
  type BigIntStats,
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { ConfigError, type ErrorFacts } from '../../errors.js';
import { makeFolder, syncNow } from '../../make-folder.js';
import { codeOf } from '../../streams/system-error.js';

/**
 * The database, its log, and the memory that all processes share. SQLite removes the last two with the last connection.
 */
const ENDS = ['', '-wal', '-shm'];

/** What follows the name of the database in the name of a copy of it. */
const SAVED = '.saved-';

/** Ends the name of a copy that is being written. */
const UNFINISHED = '.tmp';

/** Looks at the files of an open database. */
interface WatchedPlace {
  /**
   * Called before a change and before the end. The first time that a file is gone, it writes a copy of the whole
   * database beside it.
   * @param looks whether it looks at the files, which takes some ten microseconds; if not, it uses what it saw last.
   * @throws ConfigError `CHECKPOINT_GONE`.
   */
  expectInPlace(how: { readonly looks: boolean }): void;
  /**
   * Called after a change that had to be committed even without the files. If one is gone, writes the copy again, with
   * this change.
   * @returns whether a file is gone, and the change is on the disk in the copy.
   * @throws ConfigError `CHECKPOINT_GONE` if the copy cannot be written.
   */
  keepIfGone(): boolean;
}

export function watchPlace(connection: Database): WatchedPlace {
  const paths = connection.memory ? [] : ENDS.map((end) => `${connection.name}${end}`);
  const seen = new Map<string, string>();
  let gone: string | undefined;
  let saved: string | undefined;
  const isGone = () => {
    for (const path of gone === undefined ? paths : []) {
      const found = identityOf(path);
      const known = seen.get(path);
      if (known !== undefined && known !== found) gone = path;
      else if (found !== undefined) seen.set(path, found);
    }
    return gone !== undefined;
  };
  const save = () => {
    const to = saved ?? `${connection.name}${SAVED}${Date.now()}`;
    const isSaved = trySave(connection, to);
    if (isSaved) saved = to;
    return isSaved;
  };
  isGone();
  return {
    expectInPlace: ({ looks }) => {
      if (looks ? !isGone() : gone === undefined) return;
      if (saved === undefined) save();
      throw goneError(connection.name, gone!, saved);
    },
    keepIfGone: () => {
      if (!isGone()) return false;
      if (!save()) throw goneError(connection.name, gone!, saved);
      return true;
    },
  };
}

/** The newest of the copies that are beside a database. @param path of the database. */
export function newestSaved(path: string): string | undefined {
  const folder = dirname(path);
  const start = `${basename(path)}${SAVED}`;
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const copies = names.filter((name) => name.startsWith(start) && !name.endsWith(UNFINISHED));
  const newest = copies.sort().at(-1);
  return newest && join(folder, newest);
}

/**
 * What a person must know to put a copy in place: a log that belongs to the lost database must not stay beside the
 * copy.
 */
export function savedFacts(database: string, saved: string): ErrorFacts {
  return { database, saved, hasLog: (lookAt(`${database}-wal`)?.size ?? 0n) > 0n };
}

/** Does not open the file: closing it would free the locks of the connection. */
function identityOf(path: string): string | undefined {
  const found = lookAt(path);
  return found && `${found.dev}-${found.ino}`;
}

/** @returns undefined if there is nothing, or its folder is a file now. */
function lookAt(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    if (codeOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

function goneError(database: string, path: string, saved: string | undefined): ConfigError {
  const what = saved === undefined ? '' : `; all that it knew is in ${saved}`;
  return new ConfigError(
    'CHECKPOINT_GONE',
    `${path} was removed or replaced while foliopipe was at work; nothing more was sent${what}`,
    { facts: { path, ...(saved !== undefined && savedFacts(database, saved)) } },
  );
}

/**
 * SQLite can still read the files without names. Also makes the folder again if it is gone, because the copy holds what
 * was paid for.
 * @returns whether the copy is written; if not, an earlier copy stays.
 */
function trySave(connection: Database, saved: string): boolean {
  const beside = `${saved}${UNFINISHED}`;
  try {
    makeFolder(dirname(saved), 0o700);
    rmSync(beside, { force: true });
    // SQLite writes into an empty file, and keeps its mode.
    closeSync(openSync(beside, 'wx', 0o600));
    connection.prepare('VACUUM INTO ?').run(beside);
    syncNow(beside);
    renameSync(beside, saved);
    syncNow(dirname(saved));
    return true;
  } catch {
    return false;
  }
}
