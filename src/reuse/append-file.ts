/** Files that only grow, and arrays into which they are read. System calls are synchronous: another thread costs more. */
import { closeSync, writeFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { GatheredWrites } from '../streams/gathered-writes.js';
import { readAt } from '../streams/read-at.js';

/** A file to which bytes are appended. */
export class AppendFile {
  #fd: number;
  #length = 0;
  readonly #writes = new GatheredWrites((bytes) => writeFileSync(this.#fd, bytes));

  /** @param fd of an empty file, open for writing and reading. */
  constructor(fd: number) {
    this.#fd = fd;
  }

  /** The descriptor, after all appended bytes are written. Not to be used after `close`: the system may reuse it. */
  get fd(): number {
    this.flush();
    return this.#fd;
  }

  get isClosed(): boolean {
    return this.#fd < 0;
  }

  get length(): number {
    return this.#length;
  }

  /** @returns the offset at which the bytes begin. */
  append(bytes: Uint8Array): number {
    const offset = this.#length;
    this.#writes.add(bytes);
    this.#length += bytes.length;
    return offset;
  }

  /** Writes all bytes that were appended. */
  flush(): void {
    this.#writes.flush();
  }

  /** Does nothing the second time. Bytes that were not flushed are not written. */
  close(): void {
    if (!this.isClosed) closeSync(this.#fd);
    this.#fd = -1;
  }
}

/**
 * Fills an array with the bytes of a file.
 * @throws what `damaged` returns when they do not have this checksum.
 */
export function readChecked(
  fd: number,
  into: Uint8Array,
  offset: number,
  sum: number,
  damaged: () => Error,
): void {
  if (readAt(fd, into, offset) < into.length || crc32(into) !== sum) throw damaged();
}

/** Gives the arrays into which numbers are read. */
export interface IntBuffers {
  /** @returns an array of at least this many numbers; its content is undefined. */
  ints(size: number): Int32Array<ArrayBuffer>;
}

/** An array for repeated use: it grows to the largest size that was asked for. */
export class Scratch implements IntBuffers {
  #numbers = new Int32Array(1024);

  /** @returns an array of at least this many numbers, valid until the next call; its content is undefined. */
  ints(size: number): Int32Array<ArrayBuffer> {
    if (this.#numbers.length < size) this.#numbers = new Int32Array(Math.ceil(size * 1.25));
    return this.#numbers;
  }
}
