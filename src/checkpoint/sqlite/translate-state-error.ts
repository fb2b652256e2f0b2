/** Translates errors of SQLite and of the file system into errors with a foliopipe code. */
import { accessSync, closeSync, constants, openSync, readFileSync, statSync } from 'node:fs';
import { devNull } from 'node:os';
import { dirname, join } from 'node:path';
import { diskError, freeSpaceAt, systemError } from '../../disk-error.js';
import { ConfigError, type ErrorFacts, TroubleError } from '../../errors.js';
import { isSqliteError } from '../../sqlite-driver.js';
import { codeOf } from '../../streams/system-error.js';

const DAMAGED = /^SQLITE_(NOTADB|CORRUPT)/;
const UNWRITABLE = /^SQLITE_(READONLY|PERM|AUTH)/;
const BUSY = /^SQLITE_BUSY/;
const FAILED = /^SQLITE_IOERR/;

/** Other codes for these errors of the system where they concern the state folder: their hints differ. */
const OWN_CODES: Readonly<Record<string, string>> = {
  FOLDER_UNWRITABLE: 'STATE_DIR_UNWRITABLE',
  PATH_NOT_FOLDER: 'STATE_DIR_UNWRITABLE',
  DISK_FAILED: 'CHECKPOINT_IO',
};

/**
 * @param cause an error from work on a file in the state folder.
 * @param path the path of the file or folder.
 * @returns the error to throw: `DISK_FULL`, `DISK_NO_INODES`, `TOO_MANY_FILES`, `CHECKPOINT_BUSY` or `CHECKPOINT_IO`
 *   (the same command can go on later), `CHECKPOINT_DAMAGED`, `STATE_DIR_UNWRITABLE` or `FILE_SIZE_LIMIT` (a person
 *   must repair it); any other error as `diskError` returns it, else unchanged.
 */
export function translateStateError(cause: unknown, path: string): unknown {
  if (isSqliteError(cause)) return translateSqliteError(cause, cause.code, path);
  const error = diskError(cause, path);
  if (error === undefined) return cause;
  const { message, facts } = error;
  const code = OWN_CODES[error.code];
  if (code === undefined) return error;
  if (code === 'STATE_DIR_UNWRITABLE') return unwritable(message, path, cause, facts);
  const Kind = error instanceof TroubleError ? TroubleError : ConfigError;
  return new Kind(code, message, { facts, cause });
}

function translateSqliteError(cause: unknown, code: string, path: string): unknown {
  const details = { facts: { path, reason: code }, cause };
  if (code === 'SQLITE_FULL') {
    return diskError(systemError('ENOSPC', path, 'write'));
  }
  if (DAMAGED.test(code)) return damagedCheckpoint(path, cause);
  if (code.startsWith('SQLITE_CANTOPEN')) return whyNotOpened(path, code, cause);
  if (UNWRITABLE.test(code)) {
    return unwritable(`cannot write ${path} (${code})`, path, cause, details.facts);
  }
  if (BUSY.test(code))
    return new TroubleError(
      'CHECKPOINT_BUSY',
      `another process has been writing to ${path} for too long`,
      details,
    );
  if (FAILED.test(code) && isAtSizeLimit(path)) return diskError(systemError('EFBIG', path, 'write'));
  if (FAILED.test(code) && freeSpaceAt(path)?.bytes === 0)
    return diskError(systemError('ENOSPC', path, 'write'));
  if (FAILED.test(code)) {
    return new TroubleError('CHECKPOINT_IO', `the disk failed on ${path} (${code})`, details);
  }
  return cause;
}

/** SQLite reports a file that may not grow (`ulimit -f`) as a failed disk. */
function isAtSizeLimit(path: string): boolean {
  const limit = fileSizeLimit();
  return ['', '-wal'].some((end) => {
    const found = statSync(`${path}${end}`, { throwIfNoEntry: false });
    return found !== undefined && found.size + ONE_CHANGE > limit;
  });
}

/** More than a change adds to a file. After the error, the file may be as short as before the change. */
const ONE_CHANGE = 1024 * 1024;

/** The largest file that this process may write; Infinity if there is no limit or it is not known. */
function fileSizeLimit(): number {
  try {
    const [, soft] = /^Max file size\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/**
 * SQLite says only that it cannot open a file. This asks the system why. It never opens the file itself: closing it
 * would free the locks of every other connection of this process.
 */
function whyNotOpened(path: string, code: string, cause: unknown): unknown {
  try {
    closeSync(openSync(devNull, 'r'));
    accessSync(dirname(path), constants.X_OK);
    for (const one of [path, `${path}-wal`, `${path}-shm`]) {
      const found = statSync(one, { throwIfNoEntry: false });
      if (found === undefined) continue;
      if (found.isDirectory()) throw systemError('EISDIR', one);
      accessSync(one, constants.R_OK | constants.W_OK);
    }
    accessSync(dirname(path), constants.W_OK);
    if (freeSpaceAt(path)?.inodes === 0) throw systemError('ENOSPC', path);
  } catch (error) {
    return translateStateError(error, path);
  }
  return unwritable(`cannot open ${path} for writing (${code})`, path, cause, { path, reason: code });
}

function unwritable(message: string, path: string, cause: unknown, facts: ErrorFacts): ConfigError {
  return new ConfigError('STATE_DIR_UNWRITABLE', message, {
    facts: { ...facts, hasCheckpoint: isInState(path) },
    cause,
  });
}

/** Whether a path is the folder of a checkpoint, or within it. `hidden`: this user may not look into a folder of it. */
function isInState(path: string): boolean | 'hidden' {
  for (let folder = path; ; folder = dirname(folder)) {
    try {
      if (statSync(join(folder, 'checkpoint.db'), { throwIfNoEntry: false }) !== undefined) return true;
    } catch (error) {
      if (codeOf(error) === 'EACCES') return 'hidden';
    }
    if (folder === dirname(folder)) return false;
  }
}

/** The file is not a SQLite database, or its pages are damaged. */
export function damagedCheckpoint(path: string, cause?: unknown): ConfigError {
  return new ConfigError('CHECKPOINT_DAMAGED', `${path} is damaged, or is not a checkpoint`, {
    facts: { path },
    cause,
  });
}
