/** Files on this disk that a publication is made from: each is written whole, then put in the output store. */
import { writeFileSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { writeFileAtomically } from '../streams/atomic-file.js';

/**
 * The run's work file: where its output grows until it is published. It is always on this disk.
 * @param cutShort of a publication that a deadline cuts short, which has a work file of its own.
 */
export function workPathOf(output: string, run: string, cutShort = false): string {
  return `${output}.${run}${cutShort ? '.deadline' : ''}.partial`;
}

/** Where a file of a run is written before it is put in place under `name`. */
export function waitingPathOf(name: string, run: string): string {
  return `${name}.${run}.partial`;
}

/**
 * Writes a file that appears whole, 0600.
 * @param fill is given a function that appends a piece; what it was given may be overwritten when it returns.
 */
export async function writeLocalFile(
  path: string,
  fill: (append: (piece: string | Uint8Array) => void) => Promise<void>,
): Promise<void> {
  await writeFileAtomically(path, 0o600, (file) => fill((piece) => writeFileSync(file, piece)));
}

export async function isLocalFile(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** A missing file is fine. */
export async function removeLocalFile(path: string): Promise<void> {
  await rm(path, { force: true });
}
