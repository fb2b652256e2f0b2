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
  #kept: Uint8Array[] = [];
  #file: number | undefined;
  #size = 0;
  /** To the file. */
  readonly #writes = new GatheredWrites((bytes) => writeFileSync(this.#file!, bytes));

  /** @param folder takes the temporary file. If it does not exist, the system's folder for such files does. */
  constructor(folder: string, maxKeptBytes = MAX_KEPT_BYTES) {
    this.#folder = existsSync(folder) ? folder : tmpdir();
    this.#maxKeptBytes = maxKeptBytes;
  }

  /** Appends a copy of the bytes, and returns a function that reads them into an array of the same length. */
  append(bytes: Uint8Array): (into: Uint8Array) => void {
    const position = this.#size;
    this.#size += bytes.length;
    if (this.#file === undefined && this.#size <= this.#maxKeptBytes) {
      const copy = Uint8Array.from(bytes);
      this.#kept.push(copy);
    } else {
      if (this.#file === undefined) this.#open();
      this.#writes.add(bytes);
    }
    const { length: index } = this.#kept;
    return (into) => {
      if (this.#file === undefined) into.set(this.#kept[index - 1]!);
      else {
        this.#writes.flush();
        readAll(this.#file, into, position);
      }
    };
  }

  /** Frees the memory and the file. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#kept = [];
  }

  /** Begins the file with what was kept. It has no name, so a killed process leaves nothing. */
  #open(): void {
    const path = join(this.#folder, `spill-${randomBytes(8).toString('hex')}.tmp`);
    this.#file = openSync(path, 'wx+', 0o600);
    rmSync(path);
    for (const piece of this.#kept) this.#writes.add(piece);
    this.#kept = [];
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
