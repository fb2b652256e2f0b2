/** Appends lines to the log file. A full disk or a lost reader ends the log, never the work. */
import { constants, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { ConfigError } from '../errors.js';
import { makeFolder } from '../make-folder.js';

interface LogFile {
  /** Never throws. */
  write(line: string): void;
}

/**
 * @param onLost called once when the file can no longer be written, with the system's code, such as `ENOSPC`.
 * @throws ConfigError `LOG_FILE_UNWRITABLE` when it cannot be opened.
 */
export function openLogFile(path: string, onLost: (code: string) => void): LogFile {
  const file = open(path);
  let isLost = false;
  return {
    write: (line) => {
      if (isLost) return;
      try {
        writeAll(file, line);
      } catch (error) {
        isLost = true;
        onLost((error as NodeJS.ErrnoException).code ?? String(error));
      }
    },
  };
}

function open(path: string): number {
  try {
    makeFolder(dirname(path));
    // With O_NONBLOCK, a pipe without a reader is an error. Without it, the process would wait for a reader.
    const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants;
    return openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600);
  } catch (cause) {
    throw new ConfigError('LOG_FILE_UNWRITABLE', `--log-file: ${path} cannot be written`, {
      hint: 'name a file in a folder where this user may write',
      facts: { path },
      cause,
    });
  }
}

/** How long a full pipe is waited for, and how often it is tried again. */
const PATIENCE_MS = 2000;
const PAUSE_MS = 10;

/**
 * Writes all of a line: one call may write only a part, for example when the disk is nearly full.
 * @throws the system's error; `EAGAIN` if the reader of a pipe does not read.
 */
function writeAll(file: number, line: string): void {
  let rest = Buffer.from(line);
  for (let waited = 0; rest.length > 0; ) {
    try {
      rest = rest.subarray(writeSync(file, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || waited >= PATIENCE_MS) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
      waited += PAUSE_MS;
    }
  }
}
