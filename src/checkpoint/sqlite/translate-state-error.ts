/** Translates errors of SQLite and of the file system into errors with a foliopipe code. */
import { ConfigError, TroubleError } from '../../errors.js';
import { isSqliteError } from '../../sqlite-driver.js';
import { codeOf, diskTrouble } from '../../streams/system-error.js';

const DAMAGED = /^SQLITE_(NOTADB|CORRUPT)/;
const UNWRITABLE = /^SQLITE_(READONLY|CANTOPEN|PERM|AUTH)/;
const BUSY = /^SQLITE_BUSY/;
const FAILED = /^SQLITE_IOERR/;

/**
 * @param cause an error from work on a file in the state folder.
 * @param path the path of the file or folder.
 * @returns the error to throw: `DISK_FULL`, `CHECKPOINT_BUSY` or `CHECKPOINT_IO` (the same command can go on later),
 *   `CHECKPOINT_DAMAGED` or `STATE_DIR_UNWRITABLE` (a person must repair it); any other error unchanged.
 */
export function translateStateError(cause: unknown, path: string): unknown {
  const code = isSqliteError(cause) ? cause.code : codeOf(cause);
  const trouble = diskTrouble(code);
  const details = { facts: { path }, cause };
  if (code === 'SQLITE_FULL' || trouble === 'full') {
    return new TroubleError('DISK_FULL', `no space left to write ${path}`, details);
  }
  if (DAMAGED.test(code)) return damagedCheckpoint(path, cause);
  if (UNWRITABLE.test(code) || trouble === 'unwritable') {
    return new ConfigError('STATE_DIR_UNWRITABLE', `cannot write ${path} (${code})`, details);
  }
  if (BUSY.test(code)) return new TroubleError('CHECKPOINT_BUSY', `${path} stayed locked`, details);
  if (FAILED.test(code) || trouble === 'failed') {
    return new TroubleError('CHECKPOINT_IO', `the disk failed on ${path} (${code})`, details);
  }
  return cause;
}

/** The file is not a SQLite database, or its pages are damaged. */
export function damagedCheckpoint(path: string, cause?: unknown): ConfigError {
  return new ConfigError('CHECKPOINT_DAMAGED', `${path} is damaged, or is not a checkpoint`, {
    facts: { path },
    cause,
  });
}
