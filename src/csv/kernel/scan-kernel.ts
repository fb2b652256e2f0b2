/**
 * The fast scanner: a window of bytes and the offsets found in it, in the memory of a WebAssembly instance. Invariant:
 * when the window grows, it keeps its address and its bytes, but its views are created again.
 */
import { bytesOf, INT_BYTES, KernelMemory, SPARE_BYTES } from '../../kernel/kernel-memory.js';
import type { Table } from '../table.js';

/** Rules of both scanners: of this one, and of the careful loop that takes over where it stops (window-scan.ts). */
export interface Grammar {
  /** An ASCII byte. */
  readonly delimiter: number;
  /** Fields of a record. */
  readonly fields: number;
  /** The most bytes of a record, without its line end. */
  readonly maxRecordBytes: number;
}

/** The most field ends of one scan, unless one record has more. Keeps the arrays in the processor's cache. */
export const MAX_ENDS = 65_536;

/**
 * A record that does not end within this many bytes is too large. The extra 4 bytes are for its line end and for the two
 * bytes that decide whether a quote closes.
 */
export function maxBytesToRecordEnd({ maxRecordBytes }: Grammar): number {
  return maxRecordBytes + 4;
}

/** What assembly/scan.ts exports. */
interface ScanExports {
  readonly count: WebAssembly.Global;
  readonly next: WebAssembly.Global;
  readonly lines: WebAssembly.Global;
  readonly isDoubtful: WebAssembly.Global;
  readonly miscounted: WebAssembly.Global;
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
    others: number,
    otherCapacity: number,
  ): void;
  findBlank(
    bytes: number,
    starts: number,
    ends: number,
    count: number,
    fields: number,
    chosen: number,
    chosenCount: number,
    out: number,
  ): number;
}

/** Numbers that describe a record with a wrong number of fields. */
export const MISCOUNTED_INTS = 5;
/** The most records of this kind that one run finds: more than a usual window has. */
const MAX_MISCOUNTED = 4096;

/** The largest number that the kernel takes: more bytes than a window has. */
const MAX_NUMBER = 2 ** 31 - 1;

/** Ends that the kernel may write after the last one; they have no meaning. */
const SPARE_ENDS = 72;

export class ScanKernel {
  readonly #memory = new KernelMemory<ScanExports>();
  readonly #grammar: Grammar;
  readonly #capacity: number;
  readonly #sentFields: Int32Array;
  /** Addresses in the memory. The ends are at address 0. */
  readonly #startsAt: number;
  readonly #miscountedAt: number;
  readonly #sentFieldsAt: number;
  readonly #blankAt: number;
  readonly #windowAt: number;
  #window!: Buffer;
  #starts!: Int32Array;
  #ends!: Int32Array;

  /** @param sentFields indexes of the fields for `blankRows`. */
  constructor(grammar: Grammar, windowBytes: number, sentFields: readonly number[] = []) {
    this.#grammar = grammar;
    this.#capacity = Math.max(1, Math.floor(MAX_ENDS / grammar.fields));
    this.#sentFields = Int32Array.from(sentFields);
    this.#startsAt = (this.#capacity * grammar.fields + SPARE_ENDS) * INT_BYTES;
    this.#miscountedAt = this.#startsAt + this.#capacity * INT_BYTES;
    this.#sentFieldsAt = this.#miscountedAt + MAX_MISCOUNTED * MISCOUNTED_INTS * INT_BYTES;
    this.#blankAt = this.#sentFieldsAt + this.#sentFields.byteLength;
    this.#windowAt = this.#blankAt + (sentFields.length === 0 ? 0 : this.#capacity * INT_BYTES);
    this.resize(windowBytes);
    this.#memory.bytes.set(bytesOf(this.#sentFields), this.#sentFieldsAt);
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

  /** The most records that one `run` finds. */
  get capacity(): number {
    return this.#capacity;
  }

  /** A record that does not end within this many bytes is too large. */
  get maxBytesToEnd(): number {
    return maxBytesToRecordEnd(this.#grammar);
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

  /**
   * The records before `next` that have a wrong number of fields, as `MISCOUNTED_INTS` numbers each: how many records
   * were found before it, where it begins, its line feed, its fields, and the line feeds between the run's start and it.
   */
  get miscounted(): Int32Array {
    const count = this.#memory.exports.miscounted.value;
    return count === 0
      ? NONE
      : new Int32Array(this.#memory.bytes.buffer, this.#miscountedAt, count * MISCOUNTED_INTS);
  }

  /** Whether the last `run` stopped before a record that may be malformed otherwise. Then the careful scan decides. */
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
      Math.min(maxRecordBytes, MAX_NUMBER),
      starts,
      0,
      this.#capacity,
      this.#miscountedAt,
      MAX_MISCOUNTED,
    );
  }

  /**
   * The indexes of records of the window that are blank in all sent fields (assembly/blank.ts).
   *
   * @param found offsets of the records; those of another scan overwrite those that the last `run` found.
   */
  blankRows({ starts, ends }: Pick<Table, 'starts' | 'ends'>, count: number): Int32Array {
    const { fields } = this.#grammar;
    if (ends !== this.#ends) {
      this.#starts.set(starts.subarray(0, count));
      this.#ends.set(ends.subarray(0, count * fields));
    }
    const found = this.#memory.exports.findBlank(
      this.#windowAt,
      this.#startsAt,
      0,
      count,
      fields,
      this.#sentFieldsAt,
      this.#sentFields.length,
      this.#blankAt,
    );
    return new Int32Array(this.#memory.bytes.buffer, this.#blankAt, found).slice();
  }

  /** Gives the window this size. */
  resize(windowBytes: number): void {
    this.#memory.reserve(this.#windowAt + windowBytes + SPARE_BYTES);
    const { bytes } = this.#memory;
    this.#window = bytes.subarray(this.#windowAt, this.#windowAt + windowBytes);
    this.#starts = new Int32Array(bytes.buffer, this.#startsAt, this.#capacity);
    this.#ends = new Int32Array(bytes.buffer, 0, this.#startsAt / INT_BYTES);
  }

  /** Frees the memory for others. After this call, neither the kernel nor its views may be used. */
  release(): void {
    this.#memory.release();
  }
}

/** An empty list of numbers. */
export const NONE: Int32Array = new Int32Array(0);
