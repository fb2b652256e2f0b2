/**
 * The memory of one WebAssembly instance of the kernel. Invariant: what has an address keeps it while the memory
 * grows; views are made anew, so they are asked for and not kept.
 */
import { kernelCode } from './kernel-code.js';

const PAGE_BYTES = 65_536;

let compiled: WebAssembly.Module | undefined;

export class KernelMemory<Exports extends { readonly memory: WebAssembly.Memory }> {
  readonly exports: Exports;
  #bytes: Buffer;

  constructor() {
    compiled ??= new WebAssembly.Module(Buffer.from(kernelCode, 'base64'));
    this.exports = new WebAssembly.Instance(compiled).exports as Exports;
    this.#bytes = Buffer.from(this.exports.memory.buffer);
  }

  /** All of it; detached when it grows. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  /** Makes sure that there are so many bytes. */
  reserve(size: number): void {
    const missing = size - this.#bytes.length;
    if (missing <= 0) return;
    this.exports.memory.grow(Math.ceil(missing / PAGE_BYTES));
    this.#bytes = Buffer.from(this.exports.memory.buffer);
  }
}
