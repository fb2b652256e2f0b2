/**
 * Reads small files that a person names, such as a config. Never waits for a writer, and reads no more than a limit.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs';

/** Pipes of this process, such as those of `<(...)` in a shell: they have a writer already. */
const OWN_PIPE = /^\/(dev\/(stdin$|fd\/)|proc\/)/;

/**
 * @param maxBytes a larger file is an error.
 * @throws the system's error; an error that `describeReadError` explains for a larger file or a named pipe.
 */
export function readSmallFile(path: string, maxBytes: number): Buffer {
  if (statSync(path).isFIFO() && !OWN_PIPE.test(path)) throw readError('FIFO', path);
  const file = openSync(path, 'r');
  try {
    const pieces: Buffer[] = [];
    for (let bytes = 0; ; ) {
      const piece = Buffer.alloc(Math.min(64 * 1024, maxBytes + 1 - bytes));
      const read = readSync(file, piece);
      if (read === 0) return Buffer.concat(pieces);
      pieces.push(piece.subarray(0, read));
      bytes += read;
      if (bytes > maxBytes) throw readError('TOO_LARGE', path);
    }
  } finally {
    closeSync(file);
  }
}

/** @returns the code of a failed read, and its meaning if it is known. */
export function describeReadError(error: unknown): { readonly code: string; readonly words: string } {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return { code, words: READ_FAILURES[code] ?? code };
}

const READ_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'access is denied',
  FIFO: 'it is a named pipe; write it as a file',
  TOO_LARGE: 'it is too large for such a file',
};

function readError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}
