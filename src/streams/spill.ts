/** Holds bytes that may be too many for the memory: beyond a limit they go to a temporary file. */
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GatheredWrites } from './gathered-writes.js';

/** Bytes that are kept in memory. */
const MAX_KEPT_BYTES = 2 * 1024 * 1024;

export class Spill {
  readonly #folder: string;
  readonly #maxKeptBytes: number;
  /** The pieces in memory, by their positions. */
  readonly #kept = new Map<number, Uint8Array>();
  #file: number | undefined;
  #size = 0;
  /** To the file. */
  readonly #writes = new GatheredWrites((bytes) => writeFileSync(this.#file!, bytes));

  /** @param folder takes the temporary file. If it does not exist, the system's folder for such files does. */
  constructor(folder: string, maxKeptBytes = MAX_KEPT_BYTES) {
    this.#folder = existsSync(folder) ? folder : tmpdir();
    this.#maxKeptBytes = maxKeptBytes;
  }

  /** Appends a copy of the bytes. @returns their position. */
  append(bytes: Uint8Array): number {
    const position = this.#size;
    this.#size += bytes.length;
    if (this.#file === undefined && this.#size <= this.#maxKeptBytes) {
      this.#kept.set(position, Uint8Array.from(bytes));
    } else {
      if (this.#file === undefined) this.#open();
      this.#writes.add(bytes);
    }
    return position;
  }

  /** Reads the bytes that were appended at a position into an array of the same length. */
  read(position: number, into: Uint8Array): void {
    if (this.#file === undefined) into.set(this.#kept.get(position)!);
    else {
      this.#writes.flush();
      readAll(this.#file, into, position);
    }
  }

  /** Frees the memory and the file. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#kept.clear();
  }

  /** Begins the file with what was kept. It has no name, so a killed process leaves nothing. */
  #open(): void {
    const path = join(this.#folder, `spill-${randomBytes(8).toString('hex')}.tmp`);
    this.#file = openSync(path, 'wx+', 0o600);
    rmSync(path);
    for (const piece of this.#kept.values()) this.#writes.add(piece);
    this.#kept.clear();
  }
}

/** Fills an array with the bytes of an open file from a position on. */
export function readAll(file: number, into: Uint8Array, position: number): void {
  for (let at = 0; at < into.length; ) {
    const bytesRead = readSync(file, into, at, into.length - at, position + at);
    if (bytesRead === 0) throw new Error('a file is shorter than it was when it was written');
    at += bytesRead;
  }
}
