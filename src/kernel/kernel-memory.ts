/**
 * The memory of one WebAssembly instance of the kernel. Invariant: what has an address keeps it while the memory
 * grows; views are made anew, so they are asked for and not kept.
 */
import { kernelCode } from './kernel-code.js';

const PAGE_BYTES = 65_536;

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
    spare.push(this.exports);
  }

  /** Makes sure that there are so many bytes. */
  reserve(size: number): void {
    const missing = size - this.#bytes.length;
    if (missing <= 0) return;
    this.exports.memory.grow(Math.ceil(missing / PAGE_BYTES));
    this.#bytes = Buffer.from(this.exports.memory.buffer);
  }
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
