/**
 * The memory of one WebAssembly instance of the kernel. Invariant: what has an address keeps it while the memory
 * grows; views are made anew, so they are asked for and not kept.
 */
import { ConfigError, TroubleError } from '../errors.js';
import { kernelCode } from './kernel-code.js';

const PAGE_BYTES = 65_536;
/** The kernel's addresses are signed numbers of 32 bits, also where it looks somewhat beyond the last byte. */
export const MOST_MEMORY_BYTES = 2 ** 31 - PAGE_BYTES;
/** A memory never gets smaller: one that had to hold more than is common is not kept for others. */
const MOST_SPARE_MEMORY_BYTES = 64 * 1024 * 1024;

/** Up to so many bytes are read and written at once: they must be there behind whatever the kernel works on. */
export const SPARE_BYTES = 64;
/** Of a number in an `Int32Array`. */
export const INT_BYTES = 4;

/** The next address at which a block of bytes may begin. */
export function aligned(address: number): number {
  return Math.ceil(address / SPARE_BYTES) * SPARE_BYTES;
}

/** The same memory as bytes. */
export function bytesOf(array: Int32Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

let compiled: WebAssembly.Module | undefined;
/** Instances that nobody uses any more: making one costs more than most of what it is made for. */
const spare: unknown[] = [];

function makeInstance(): unknown {
  compiled ??= new WebAssembly.Module(Buffer.from(kernelCode, 'base64'));
  return new WebAssembly.Instance(compiled).exports;
}

export class KernelMemory<Exports extends { readonly memory: WebAssembly.Memory }> {
  readonly exports: Exports;
  #bytes: Buffer;

  constructor() {
    this.exports = (spare.pop() ?? makeInstance()) as Exports;
    this.#bytes = Buffer.from(this.exports.memory.buffer);
  }

  /** All of it; detached when it grows. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  /** Leaves the memory to the next who needs one: whoever calls this uses it, and all views of it, no more. */
  release(): void {
    if (this.#bytes.length <= MOST_SPARE_MEMORY_BYTES) spare.push(this.exports);
  }

  /**
   * Makes sure that there are so many bytes.
   * @throws ConfigError `MEMORY_LIMIT` where the kernel cannot have so many; TroubleError `MEMORY_REFUSED` where the
   * system does not give them.
   */
  reserve(size: number): void {
    const missing = size - this.#bytes.length;
    if (missing <= 0) return;
    if (size > MOST_MEMORY_BYTES) throw pastLimit(size);
    try {
      this.exports.memory.grow(Math.ceil(missing / PAGE_BYTES));
    } catch (cause) {
      throw refused(size, cause);
    }
    this.#bytes = Buffer.from(this.exports.memory.buffer);
  }
}

function pastLimit(size: number): ConfigError {
  return new ConfigError(
    'MEMORY_LIMIT',
    `the records and answers at work at once take ${size} bytes; the CSV kernel holds at most ${MOST_MEMORY_BYTES}`,
    {
      hint: 'lower chunks.maxBytes for a run that begins with --new, or send and keep each column once only',
      facts: { bytes: size, limit: MOST_MEMORY_BYTES },
    },
  );
}

function refused(size: number, cause: unknown): TroubleError {
  return new TroubleError('MEMORY_REFUSED', `the system does not give ${size} bytes of memory at once`, {
    hint: 'give the process more memory (a limit of the container or of ulimit?), then run the same command again: nothing is paid again',
    facts: { bytes: size },
    cause,
  });
}

/** One memory of this size for all calls that leave nothing in it for the next; made when it is first asked for. */
export function sharedMemory<Exports extends { readonly memory: WebAssembly.Memory }>(
  size: number,
): () => KernelMemory<Exports> {
  let shared: KernelMemory<Exports> | undefined;
  return () => {
    if (shared === undefined) {
      shared = new KernelMemory();
      shared.reserve(size);
    }
    return shared;
  };
}
