/** Holds bytes that may be too many for the memory: beyond a limit they go to a temporary file. */
import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GatheredWrites } from './gathered-writes.js';
import { readAll } from './read-at.js';

/** Bytes that are kept in memory. */
const MAX_KEPT_BYTES = 2 * 1024 * 1024;

export class Spill {
  readonly #folder: string;
  readonly #maxKeptBytes: number;
  /** The pieces in memory, by their positions. */
  readonly #kept = new Map<number, Uint8Array>();
  #file: number | undefined;
  #size = 0;
  /** Gathers the writes to the file. */
  readonly #writes = new GatheredWrites((bytes) => writeFileSync(this.#file!, bytes));

  /** @param folder for the temporary file. If it does not exist, the system's folder for such files is used. */
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

  /** Begins the file with what was kept. */
  #open(): void {
    this.#file = openNameless(this.#folder);
    for (const piece of this.#kept.values()) this.#writes.add(piece);
    this.#kept.clear();
  }
}

/**
 * Opens a new file in the folder, for writing and reading. It has no name, so a killed process leaves nothing.
 * @returns its descriptor.
 */
export function openNameless(folder: string): number {
  const path = join(folder, `${randomUUID()}.tmp`);
  const file = openSync(path, 'wx+', 0o600);
  try {
    rmSync(path);
  } catch (error) {
    closeSync(file);
    throw error;
  }
  return file;
}
