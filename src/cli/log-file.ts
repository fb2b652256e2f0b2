/** Appends lines to the log file. A full disk or a lost reader ends the log, never the work. */
import { openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { ConfigError } from '../../pipelines/index.js';
import { makeFolder } from '../make-folder.js';

export interface LogFile {
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
    return openSync(path, 'a', 0o600);
  } catch (cause) {
    throw new ConfigError('LOG_FILE_UNWRITABLE', `--log-file: ${path} cannot be written`, {
      hint: 'name a file in a folder where this user may write',
      facts: { path },
      cause,
    });
  }
}

/** Writes all of a line: one call may write only a part, for example when the disk is nearly full. */
function writeAll(file: number, line: string): void {
  let rest = Buffer.from(line);
  while (rest.length > 0) rest = rest.subarray(writeSync(file, rest));
}
