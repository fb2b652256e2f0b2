/** Files that only grow, and temporary files without a name. System calls are synchronous: another thread costs more. */
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** A file to which bytes are appended. They can be read again at once. */
export class AppendFile {
  #fd: number;
  #length = 0;

  /** @param fd of an empty file, open for writing and reading. */
  constructor(fd: number) {
    this.#fd = fd;
  }

  /** -1 after `close`: the system may have given the number to another file. */
  get fd(): number {
    return this.#fd;
  }

  get length(): number {
    return this.#length;
  }

  /** @returns the offset at which the bytes begin. */
  append(bytes: Uint8Array): number {
    const offset = this.#length;
    for (let at = 0; at < bytes.length; ) {
      at += writeSync(this.#fd, bytes, at, Math.min(bytes.length - at, MAX_CALL_BYTES), offset + at);
    }
    this.#length += bytes.length;
    return offset;
  }

  /** Does nothing the second time. */
  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }
}

/** Node reports the bytes of one call as a 32-bit number. */
const MAX_CALL_BYTES = 1024 * 1024 * 1024;

/**
 * Fills an array with the bytes of a file.
 * @returns false if the file ends before.
 */
export function readFully(fd: number, into: Uint8Array, offset: number): boolean {
  for (let at = 0; at < into.length; ) {
    const read = readSync(fd, into, at, Math.min(into.length - at, MAX_CALL_BYTES), offset + at);
    if (read === 0) return false;
    at += read;
  }
  return true;
}

/** A file in the folder, open for writing and reading. It has no name: the system frees it when it is closed. */
export function openNameless(folder: string): AppendFile {
  const path = join(folder, `${randomUUID()}.tmp`);
  const fd = openSync(path, 'wx+', 0o600);
  try {
    rmSync(path);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return new AppendFile(fd);
}

/** Gives the arrays into which numbers are read. */
export interface IntBuffers {
  /** @returns an array of at least this many numbers; its content is undefined. */
  ints(size: number): Int32Array<ArrayBuffer>;
}

/** An array for a use that repeats: it grows to the largest size that was asked for. */
export class Scratch implements IntBuffers {
  #numbers = new Int32Array(1024);

  /** @returns an array of at least this many numbers, valid until the next call; its content is undefined. */
  ints(size: number): Int32Array<ArrayBuffer> {
    if (this.#numbers.length < size) this.#numbers = new Int32Array(Math.ceil(size * 1.25));
    return this.#numbers;
  }
}

/** The bytes of the first `size` numbers. */
export function bytesOfInts(numbers: Int32Array, size: number): Uint8Array {
  return new Uint8Array(numbers.buffer, numbers.byteOffset, size * Int32Array.BYTES_PER_ELEMENT);
}
