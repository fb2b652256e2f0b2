/** Counts the records of a CSV stream in WebAssembly. */
import { KernelMemory, SPARE_BYTES } from '../../kernel/kernel-memory.js';

interface CountedContent {
  /** The same bytes. */
  readonly content: AsyncIterable<Buffer>;
  /** Records seen so far, without the header and without blank lines. */
  count(): number;
}

/**
 * Counts lines outside quotes. The count is exact for well-formed CSV. The scanner checks later, when the results are
 * joined, that the CSV is well-formed.
 */
export function countRecords(content: AsyncIterable<Buffer>): CountedContent {
  const counter = new LineCounter();
  const pass = async function* () {
    for await (const piece of content) {
      counter.add(piece);
      yield piece;
    }
  };
  return { content: pass(), count: () => Math.max(counter.lines - 1, 0) };
}

/** What assembly/count.ts exports. */
interface CountExports {
  readonly lineCount: WebAssembly.Global;
  readonly isFilled: WebAssembly.Global;
  readonly inQuotes: WebAssembly.Global;
  countLines(from: number, to: number, isFilled: number, inQuotes: number): void;
}

/** Bytes of one call: few enough to stay in the processor's cache. */
const WINDOW_BYTES = 64 * 1024;

/** One for all files, made with the first. */
let kernel: KernelMemory<CountExports> | undefined;

function makeKernel(): KernelMemory<CountExports> {
  const memory = new KernelMemory<CountExports>();
  memory.reserve(WINDOW_BYTES + SPARE_BYTES);
  return memory;
}

/** Counts the non-empty lines of one file. All files share the kernel, so each keeps its state here. */
class LineCounter {
  #ended = 0;
  #isFilled = 0;
  #inQuotes = 0;

  /** Lines so far, including an unfinished one. */
  get lines(): number {
    return this.#ended + this.#isFilled;
  }

  add(bytes: Uint8Array): void {
    kernel ??= makeKernel();
    const { bytes: memory, exports } = kernel;
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
