/** Errors of SQLite and of the file system become errors with a code of foliopipe. */
import { ConfigError, TroubleError } from '../../errors.js';
import { isSqliteError } from '../../sqlite-driver.js';

const FULL = /^(SQLITE_FULL|ENOSPC|EDQUOT)$/;
const DAMAGED = /^SQLITE_(NOTADB|CORRUPT)/;
const UNWRITABLE = /^(SQLITE_(READONLY|CANTOPEN|PERM|AUTH)|EACCES$|EPERM$|EROFS$|ENOTDIR$|EEXIST$)/;
const BUSY = /^SQLITE_BUSY/;
const BROKEN = /^(SQLITE_IOERR|EIO$)/;

/**
 * @param cause an error of work on a file of the state folder
 * @param path the file or folder
 * @returns the error to throw: `DISK_FULL`, `CHECKPOINT_BUSY` or `CHECKPOINT_IO` (the same command again goes on),
 *   `CHECKPOINT_DAMAGED` or `STATE_DIR_UNWRITABLE` (a person mends it); any other error unchanged.
 */
export function translateStateError(cause: unknown, path: string): unknown {
  const code = errorCode(cause);
  const details = { facts: { path }, cause };
  if (FULL.test(code)) return new TroubleError('DISK_FULL', `no space left to write ${path}`, details);
  if (DAMAGED.test(code)) return damagedCheckpoint(path, cause);
  if (UNWRITABLE.test(code)) {
    return new ConfigError('STATE_DIR_UNWRITABLE', `cannot write ${path} (${code})`, details);
  }
  if (BUSY.test(code)) return new TroubleError('CHECKPOINT_BUSY', `${path} stayed locked`, details);
  if (BROKEN.test(code)) {
    return new TroubleError('CHECKPOINT_IO', `the disk failed on ${path} (${code})`, details);
  }
  return cause;
}

/** The file is not a SQLite database, or its pages are damaged. */
export function damagedCheckpoint(path: string, cause?: unknown): ConfigError {
  return new ConfigError('CHECKPOINT_DAMAGED', `${path} is damaged or no checkpoint`, {
    facts: { path },
    cause,
  });
}

function errorCode(error: unknown): string {
  if (isSqliteError(error)) return error.code;
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
