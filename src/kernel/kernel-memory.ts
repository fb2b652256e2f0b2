/**
 * The memory of one WebAssembly instance of the kernel. Invariant: contents keep their addresses while the memory grows,
 * but views are replaced, so callers ask for a view each time and keep none.
 */
import { ConfigError, TroubleError } from '../errors.js';
import { kernelCode } from './kernel-code.js';

const PAGE_BYTES = 65_536;
/** The kernel's addresses are signed numbers of 32 bits, and so are those slightly after the last byte. */
export const MAX_MEMORY_BYTES = 2 ** 31 - PAGE_BYTES;
/** A memory never shrinks, so an unusually large one is not kept for reuse. */
const MAX_SPARE_MEMORY_BYTES = 16 * 1024 * 1024;

/** The kernel reads and writes up to this many bytes at once, so there must be as many after everything it works on. */
export const SPARE_BYTES = 64;
/** Bytes of a number in an `Int32Array`. */
export const INT_BYTES = 4;

/** The next aligned address, at which a block of bytes may begin. */
export function aligned(address: number): number {
  return Math.ceil(address / SPARE_BYTES) * SPARE_BYTES;
}

/** Slots of a hash table for this number of entries: a power of two, at most half of them used. */
export function slotsFor(entries: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(16, entries * 2)));
}

/** Places blocks one after the other, with spare bytes after each, in a memory that is reserved afterwards. */
export class MemoryLayout {
  #end: number;

  /** @param start the first address that may be used. */
  constructor(start = SPARE_BYTES) {
    this.#end = aligned(start);
  }

  /** Bytes to reserve. */
  get end(): number {
    return this.#end;
  }

  /** @returns the address of a block of this length. */
  placeBytes(bytes: number): number {
    const at = this.#end;
    this.#end = aligned(at + bytes + SPARE_BYTES);
    return at;
  }

  /** @returns the address of a block of this number of numbers. */
  placeInts(ints: number): number {
    return this.placeBytes(ints * INT_BYTES);
  }
}

/** A view of the same memory as bytes. */
export function bytesOf(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** @typeParam Exports what the caller uses of assembly/index.ts. */
export class KernelMemory<Exports> {
  readonly exports: Exports & { readonly memory: WebAssembly.Memory };
  #bytes: Buffer;

  /** @throws TroubleError `MEMORY_REFUSED`. */
  constructor() {
    this.exports = (spare.pop() ?? makeInstance()) as typeof this.exports;
    this.#bytes = Buffer.from(this.exports.memory.buffer);
  }

  /** The whole memory; the view is detached when the memory grows. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  /** Frees the memory for reuse. Neither it nor a view of it may be used after this. */
  release(): void {
    if (this.#bytes.length <= MAX_SPARE_MEMORY_BYTES) spare.push(this.exports);
  }

  /**
   * Grows the memory to at least `size` bytes.
   *
   * @throws ConfigError `MEMORY_LIMIT` where the kernel cannot address so many; TroubleError `MEMORY_REFUSED` where the
   * system does not provide them.
   */
  reserve(size: number): void {
    const missing = size - this.#bytes.length;
    if (missing <= 0) return;
    if (size > MAX_MEMORY_BYTES) throw pastLimit(size);
    try {
      this.exports.memory.grow(Math.ceil(missing / PAGE_BYTES));
    } catch (cause) {
      throw refused(size, cause);
    }
    this.#bytes = Buffer.from(this.exports.memory.buffer);
  }
}

let compiled: WebAssembly.Module | undefined;
/** Released instances, for reuse: making one costs more than most work that is done with it. */
const spare: unknown[] = [];

function makeInstance(): unknown {
  compiled ??= new WebAssembly.Module(Buffer.from(kernelCode, 'base64'));
  try {
    return new WebAssembly.Instance(compiled).exports;
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new TroubleError('MEMORY_REFUSED', 'the system gives no room for the memory of the CSV kernel', {
      hint: 'Node reserves gigabytes of addresses for it, and uses few of them: raise the limit of virtual memory (ulimit -v), and limit the memory by a container or a cgroup; then run the same command again: nothing is paid again',
      cause,
    });
  }
}

function pastLimit(size: number): ConfigError {
  return new ConfigError(
    'MEMORY_LIMIT',
    `the records and answers that are handled at once take ${size} bytes; the CSV kernel holds at most ${MAX_MEMORY_BYTES}`,
    {
      hint: 'send and keep each column once only, or lower chunks.maxBytes and begin a new run, which pays again: foliopipe run --new',
      facts: { bytes: size, limit: MAX_MEMORY_BYTES },
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
