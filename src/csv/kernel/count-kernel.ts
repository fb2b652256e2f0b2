/** Counts the filled lines of a CSV, quoted line feeds left out, while its bytes pass; in WebAssembly. */
import { KernelMemory, SPARE_BYTES } from '../../kernel/kernel-memory.js';

/** What assembly/count.ts exports. */
interface CountExports {
  readonly memory: WebAssembly.Memory;
  readonly lineCount: WebAssembly.Global;
  readonly isFilled: WebAssembly.Global;
  countLines(from: number, to: number): void;
}

export class CountKernel {
  readonly #memory = new KernelMemory<CountExports>();

  /** Lines so far, one that has not ended included. */
  get lines(): number {
    const { lineCount, isFilled } = this.#memory.exports;
    return lineCount.value + isFilled.value;
  }

  look(bytes: Uint8Array): void {
    this.#memory.reserve(bytes.length + SPARE_BYTES);
    this.#memory.bytes.set(bytes);
    this.#memory.exports.countLines(0, bytes.length);
  }
}
