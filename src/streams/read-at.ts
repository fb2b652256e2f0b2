/** Reads an open file at a position, synchronously: another thread would take longer. */
import { readSync } from 'node:fs';

/** Fills an array with the bytes of an open file from a position on. @throws if the file ends earlier. */
export function readAll(file: number, into: Uint8Array, position: number): void {
  if (readAt(file, into, position) === into.length) return;
  throw new Error('a file is shorter than it was when it was written');
}

/** Node reports the bytes of one call as a 32-bit number. */
const MAX_CALL_BYTES = 1024 * 1024 * 1024;

/**
 * Reads the bytes of an open file from a position on, until the array is full.
 * @returns how many there were: fewer only where the file ends.
 */
export function readAt(file: number, into: Uint8Array, position: number): number {
  let filled = 0;
  while (filled < into.length) {
    const size = Math.min(into.length - filled, MAX_CALL_BYTES);
    const read = readSync(file, into, filled, size, position + filled);
    if (read === 0) break;
    filled += read;
  }
  return filled;
}
