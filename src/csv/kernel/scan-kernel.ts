/**
 * The fast scanner: a window of bytes and the offsets found in it, in the memory of a WebAssembly instance. Invariant:
 * when the window grows, it keeps its address and its bytes, but its views are created again.
 */
import { INT_BYTES, KernelMemory, SPARE_BYTES } from '../../kernel/kernel-memory.js';
import { type Grammar, MAX_ENDS } from '../grammar.js';

/** What assembly/scan.ts exports. */
interface ScanExports {
  readonly memory: WebAssembly.Memory;
  readonly count: WebAssembly.Global;
  readonly next: WebAssembly.Global;
  readonly lines: WebAssembly.Global;
  readonly isDoubtful: WebAssembly.Global;
  scan(
    window: number,
    from: number,
    to: number,
    delimiter: number,
    fields: number,
    maxRecordBytes: number,
    starts: number,
    ends: number,
    capacity: number,
  ): void;
}

/** Ends that the kernel may write after the last one; they have no meaning. */
const SPARE_ENDS = 72;

export class ScanKernel {
  readonly #memory = new KernelMemory<ScanExports>();
  readonly #grammar: Grammar;
  readonly #capacity: number;
  /** Addresses in the memory. The ends are at address 0. */
  readonly #startsAt: number;
  readonly #windowAt: number;
  #window!: Buffer;
  #starts!: Int32Array;
  #ends!: Int32Array;

  constructor(grammar: Grammar, windowBytes: number) {
    this.#grammar = grammar;
    this.#capacity = Math.max(1, Math.floor(MAX_ENDS / grammar.fields));
    this.#startsAt = (this.#capacity * grammar.fields + SPARE_ENDS) * INT_BYTES;
    this.#windowAt = this.#startsAt + this.#capacity * INT_BYTES;
    this.#reserve(windowBytes);
  }

  /** The bytes to scan. */
  get window(): Buffer {
    return this.#window;
  }

  /** Where the records found begin. */
  get starts(): Int32Array {
    return this.#starts;
  }

  /** Where their fields end. */
  get ends(): Int32Array {
    return this.#ends;
  }

  /** Records found by the last `run`. */
  get count(): number {
    return this.#memory.exports.count.value;
  }

  /** Where the first incomplete record begins. */
  get next(): number {
    return this.#memory.exports.next.value;
  }

  /** Line feeds before `next`. */
  get lines(): number {
    return this.#memory.exports.lines.value;
  }

  /** Whether the last `run` stopped before a record that may be malformed. Then the careful scan decides. */
  get isDoubtful(): boolean {
    return this.#memory.exports.isDoubtful.value !== 0;
  }

  /** Whether the last `run` stopped because the arrays are full. */
  get isFull(): boolean {
    return this.count === this.#capacity;
  }

  /** Scans `window[from, to)`, which begins at a record. Finds only records that end with a line feed. */
  run(from: number, to: number): void {
    const { delimiter, fields, maxRecordBytes } = this.#grammar;
    const starts = this.#startsAt;
    this.#memory.exports.scan(
      this.#windowAt,
      from,
      to,
      delimiter,
      fields,
      maxRecordBytes,
      starts,
      0,
      this.#capacity,
    );
  }

  /** Enlarges the window. */
  grow(windowBytes: number): void {
    this.#reserve(windowBytes);
  }

  /** Frees the memory for others. After this call, neither the kernel nor its views may be used. */
  release(): void {
    this.#memory.release();
  }

  #reserve(windowBytes: number): void {
    this.#memory.reserve(this.#windowAt + windowBytes + SPARE_BYTES);
    const { bytes } = this.#memory;
    this.#window = bytes.subarray(this.#windowAt, this.#windowAt + windowBytes);
    this.#starts = new Int32Array(bytes.buffer, this.#startsAt, this.#capacity);
    this.#ends = new Int32Array(bytes.buffer, 0, this.#startsAt / INT_BYTES);
  }
}
