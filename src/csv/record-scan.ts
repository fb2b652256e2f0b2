/**
 * Scans one file, window after window: yields Batches of good records, reports each bad record, and continues after it.
 * Invariant: the records found never depend on where the windows are cut.
 */
import { type BadRecord, type BadRecordCode, badRecordMessage, badText } from './bad-record.js';
import { contentEnd, countLineFeeds, indexOfLineFeed } from './bytes.js';
import { type Grammar, maxBytesToRecordEnd } from './grammar.js';
import { ScanKernel } from './kernel/scan-kernel.js';
import type { Batch } from './table.js';
import { WindowScan } from './window-scan.js';

export interface ScanOptions {
  /** One ASCII character. */
  readonly delimiter: string;
  /** Fields that every record must have. */
  readonly fields: number;
  /** Most bytes of a record without its line end. A larger record is bad and is never held whole in memory. */
  readonly maxRecordBytes: number;
  /** Index of the source file. */
  readonly file: number;
  /** Decoded offset in the file of the first byte scanned, which begins a record. */
  readonly base: number;
  /** Number of the first record. */
  readonly firstRecord: number;
  /** Physical line of the first byte; left out if it is unknown. */
  readonly firstLine?: number;
  /** Whether the bytes were decoded from another encoding than UTF-8. */
  readonly transcoded?: boolean;
  /** Indexes of the sent fields, if `Batch.blank` is wanted. */
  readonly sentFields?: readonly number[];
  /** Throws to stop, returns to skip the record. */
  readonly onBadRecord: (bad: BadRecord) => void;
}

/** A window fits into the processor's cache. Its records are one Batch. */
const WINDOW_BYTES = 256 * 1024;

/** Records found in the window. */
interface Found {
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  readonly count: number;
}

export class RecordScan {
  /** Number of the next record. */
  record: number;
  readonly #options: ScanOptions;
  /** Finds the records that are certainly well-formed. */
  readonly #kernel: ScanKernel;
  readonly #grammar: Grammar;
  readonly #maxBytesToEnd: number;
  #carefulScan: WindowScan | undefined;
  /** Bytes in the kernel's window. */
  #filled = 0;
  /** Decoded offset of the window's first byte. */
  #base: number;
  #line: number;
  /** Whether the window begins within a physical line whose record was already rejected. */
  #skipping = false;

  /** @param windowBytes initial size. The window grows when a record needs more. */
  constructor(options: ScanOptions, windowBytes = WINDOW_BYTES) {
    const { fields, maxRecordBytes } = options;
    const grammar = { delimiter: options.delimiter.charCodeAt(0), fields, maxRecordBytes };
    this.#options = options;
    this.#kernel = new ScanKernel(grammar, windowBytes, options.sentFields);
    this.#grammar = grammar;
    this.#maxBytesToEnd = maxBytesToRecordEnd(grammar);
    this.record = options.firstRecord;
    this.#base = options.base;
    this.#line = options.firstLine ?? 0;
  }

  /** Scans records at which the kernel stops. Created at the first use, because most files never need it. */
  get #careful(): WindowScan {
    this.#carefulScan ??= new WindowScan(this.#grammar);
    return this.#carefulScan;
  }

  /** Takes the next bytes of the file; yields the records of each window that they fill. */
  *take(piece: Uint8Array): Generator<Batch, void, undefined> {
    for (let used = 0; ; ) {
      const { window } = this.#kernel;
      const size = Math.min(piece.length - used, window.length - this.#filled);
      window.set(piece.subarray(used, used + size), this.#filled);
      used += size;
      this.#filled += size;
      if (this.#filled < window.length) return;
      const taken = yield* this.#scan(false);
      if (taken > 0) this.#keepFrom(taken);
      else this.#kernel.grow(Math.min(window.length * 2, Math.max(this.#maxBytesToEnd, window.length + 1)));
    }
  }

  /** Ends the file: yields the records that are left. */
  *end(): Generator<Batch, void, undefined> {
    yield* this.#scan(true);
  }

  /** Frees the window for other scans. Neither the scan nor its Batches may be used after this. */
  release(): void {
    this.#kernel.release();
  }

  #keepFrom(taken: number): void {
    this.#kernel.window.copyWithin(0, taken, this.#filled);
    this.#base += taken;
    this.#filled -= taken;
  }

  /**
   * Scans the window; with `isLast` to its end.
   *
   * @returns the offset from which to scan again with more bytes; 0 if the window is too small for a record.
   */
  *#scan(isLast: boolean): Generator<Batch, number, undefined> {
    const kernel = this.#kernel;
    const bytes = kernel.window;
    const to = this.#filled;
    let at = 0;
    if (this.#skipping) {
      const lineFeed = indexOfLineFeed(bytes, 0, to);
      if (lineFeed === -1) return to;
      this.#skipping = false;
      at = lineFeed + 1;
      this.#line += 1;
    }
    for (;;) {
      kernel.run(at, to);
      if (kernel.count > 0) yield* this.#batches(bytes, at, kernel);
      this.#line += kernel.lines;
      at = kernel.next;
      if (kernel.isFull) continue;
      const isWhole = at === to || !(isLast || to - at >= this.#maxBytesToEnd);
      if (!kernel.isDoubtful && isWhole) return at;

      const careful = this.#careful;
      careful.run(bytes, at, to, isLast);
      if (careful.count > 0) yield* this.#batches(bytes, at, careful);
      this.#line += careful.lines;
      at = careful.next;
      if (careful.stop === 'FULL') continue;
      if (careful.stop === 'END') return at;

      const lineFeed = this.#endOfRejected(bytes, to);
      const isCut = lineFeed === -1 && !isLast;
      if (isCut && to - at < this.#maxBytesToEnd) return at;
      const next = lineFeed === -1 ? to : lineFeed + 1;
      const end = lineFeed === -1 ? to : contentEnd(bytes, at, lineFeed);
      this.#report(careful.stop, bytes, at, end, this.#line);
      this.#line += countLineFeeds(bytes, at, next);
      this.#skipping = isCut;
      if (next === to) return to;
      at = next;
    }
  }

  /** Offset of the line feed up to which a malformed record is rejected, or -1. */
  #endOfRejected(bytes: Uint8Array, to: number): number {
    const { stop, problemAt, next } = this.#careful;
    // A wrong field count rejects exactly the record, a misplaced quote rejects up to the end of its physical line.
    // Otherwise the record has no known end (an open quote takes all that follows), so only its first line is rejected.
    const isSeen = stop === 'SOURCE_FIELD_COUNT' || stop === 'SOURCE_QUOTE_MISPLACED';
    return indexOfLineFeed(bytes, isSeen ? problemAt : next, to);
  }

  /** Yields the records found as one Batch or, if some have bad text, as Batches around the bad ones. */
  *#batches(bytes: Uint8Array, from: number, found: Found): Generator<Batch, void, undefined> {
    const { starts, ends, count } = found;
    const { fields, sentFields, transcoded = false } = this.#options;
    const blank = sentFields && this.#kernel.blankRows(found, count);
    const end = ends[count * fields - 1]!;
    if (badText(bytes.subarray(starts[0]!, end), transcoded) === undefined) {
      yield this.#batch(bytes, found, 0, count, blank);
      return;
    }
    let first = 0;
    let line = this.#line;
    let counted = from;
    for (let record = 0; record < count; record++) {
      const start = starts[record]!;
      const recordEnd = ends[(record + 1) * fields - 1]!;
      const code = badText(bytes.subarray(start, recordEnd), transcoded);
      if (code === undefined) continue;
      if (record > first) yield this.#batch(bytes, found, first, record, blank);
      line += countLineFeeds(bytes, counted, start);
      counted = start;
      this.#report(code, bytes, start, recordEnd, line);
      first = record + 1;
    }
    if (count > first) yield this.#batch(bytes, found, first, count, blank);
  }

  /** @param blank indexes among all records found. */
  #batch(
    bytes: Uint8Array,
    { starts, ends }: Found,
    first: number,
    last: number,
    blank: Int32Array | undefined,
  ): Batch {
    const { file, fields } = this.#options;
    const firstRecord = this.record;
    const count = last - first;
    this.record += count;
    return {
      file,
      bytes,
      base: this.#base,
      firstRecord,
      count,
      fields,
      starts: starts.subarray(first, last),
      ends: ends.subarray(first * fields, last * fields),
      ...(blank && { blank: blankWithin(blank, first, last) }),
    };
  }

  #report(code: BadRecordCode, bytes: Uint8Array, start: number, end: number, line: number): void {
    const { file, fields, maxRecordBytes, transcoded = false, firstLine, onBadRecord } = this.#options;
    const { found, problemAt } = this.#careful;
    const facts = { fields, maxRecordBytes, transcoded, found, quoteAt: problemAt - start };
    onBadRecord({
      code,
      file,
      record: this.record++,
      line: firstLine === undefined ? 0 : line,
      byte: this.#base + start,
      raw: Buffer.from(bytes.subarray(start, Math.min(end, start + maxRecordBytes))),
      message: badRecordMessage(code, facts),
    });
  }
}

/** Indexes that count from `first` on; without those outside of `first` to `last` (exclusive). */
function blankWithin(blank: Int32Array, first: number, last: number): Int32Array {
  if (blank.length === 0) return blank;
  return blank.filter((row) => row >= first && row < last).map((row) => row - first);
}
