/**
 * Counts the filled lines of a CSV, quoted line feeds left out, while its bytes pass; in WebAssembly. All files share
 * one instance: what was seen of each is kept here.
 */
import { SPARE_BYTES, sharedMemory } from '../../kernel/kernel-memory.js';

/** What assembly/count.ts exports. */
interface CountExports {
  readonly memory: WebAssembly.Memory;
  readonly lineCount: WebAssembly.Global;
  readonly isFilled: WebAssembly.Global;
  readonly inQuotes: WebAssembly.Global;
  countLines(from: number, to: number, isFilled: number, inQuotes: number): void;
}

/** Bytes looked at by one call: they fit into the processor's cache. */
const WINDOW_BYTES = 64 * 1024;

const kernelMemory = sharedMemory<CountExports>(WINDOW_BYTES + SPARE_BYTES);

export class CountKernel {
  #ended = 0;
  #isFilled = 0;
  #inQuotes = 0;

  /** Lines so far, one that has not ended included. */
  get lines(): number {
    return this.#ended + this.#isFilled;
  }

  look(bytes: Uint8Array): void {
    const { bytes: memory, exports } = kernelMemory();
    for (let at = 0; at < bytes.length; at += WINDOW_BYTES) {
      const window = bytes.subarray(at, at + WINDOW_BYTES);
      memory.set(window);
      exports.countLines(0, window.length, this.#isFilled, this.#inQuotes);
      this.#ended += exports.lineCount.value;
      this.#isFilled = exports.isFilled.value;
      this.#inQuotes = exports.inQuotes.value;
    }
  }
}
