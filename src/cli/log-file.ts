/** The log file: lines appended as they come. A full disk, or a reader that has gone, ends the writing, never the work. */
import { mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { ConfigError } from '../../pipelines/index.js';

export interface LogFile {
  /** Never throws. */
  write(line: string): void;
}

/**
 * @param onLost told once, when the file can no longer be written, and why: `ENOSPC`.
 * @throws ConfigError when it cannot be opened.
 */
export function openLogFile(path: string, onLost: (code: string) => void): LogFile {
  const file = open(path);
  let isLost = false;
  return {
    write: (line) => {
      if (isLost) return;
      try {
        writeWhole(file, line);
      } catch (error) {
        isLost = true;
        onLost((error as NodeJS.ErrnoException).code ?? String(error));
      }
    },
  };
}

function open(path: string): number {
  try {
    mkdirSync(dirname(path), { recursive: true });
    return openSync(path, 'a', 0o600);
  } catch (cause) {
    throw new ConfigError('LOG_FILE_UNWRITABLE', `--log-file: ${path} cannot be written`, {
      hint: 'name a file in a folder where this user may write',
      facts: { path },
      cause,
    });
  }
}

/** On a disk that is nearly full, less than all may be written at first. */
function writeWhole(file: number, line: string): void {
  let rest = Buffer.from(line);
  while (rest.length > 0) rest = rest.subarray(writeSync(file, rest));
}
