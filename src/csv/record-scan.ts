/**
 * Scans one file, window after window: yields Batches of good records, reports each bad record, and continues after it.
 * Invariant: the records found never depend on where the windows are cut.
 */
import { type BadRecord, type BadRecordCode, badRecordMessage } from './bad-record.js';
import { badText, contentEnd, countLineFeeds, indexOfLineFeed, LF } from './bytes.js';
import { type Found, KeptRecords, type NumberedRecords } from './kept-records.js';
import { type Grammar, MISCOUNTED_INTS, NONE, ScanKernel } from './kernel/scan-kernel.js';
import type { Batch } from './table.js';
import { WindowScan } from './window-scan.js';

export interface ScanOptions {
  /** One ASCII character. */
  readonly delimiter: string;
  /** Fields that every record must have. */
  readonly fields: number;
  /** The most bytes of a record without its line end. A larger record is bad and is never held completely in memory. */
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
  /** Whether all text was checked before, or was written by foliopipe. Then the scan does not check it. */
  readonly hasGoodText?: boolean;
  /** Indexes of the sent fields, if `Batch.blank` is wanted. */
  readonly sentFields?: readonly number[];
  /**
   * Throws to stop, returns to skip the record. Bad records are reported in the order of the file. A bad record may be
   * reported before good records of the same window that come before it.
   * Left out: all bad records are skipped.
   */
  readonly onBadRecord?: (bad: BadRecord) => void;
}

/** A window fits into the processor's cache. Its good records are one Batch, or a few. */
export const WINDOW_BYTES = 256 * 1024;

export class RecordScan {
  /** Number of the next record. */
  record: number;
  readonly #options: ScanOptions;
  /** Finds the records that are certainly well-formed. */
  readonly #kernel: ScanKernel;
  readonly #grammar: Grammar;
  readonly #isTranscoded: boolean;
  #numbers = new Int32Array(0);
  #carefulScan: WindowScan | undefined;
  /** Created at the first use, because most files have no bad record. */
  #keptRecords: KeptRecords | undefined;
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
    this.#isTranscoded = options.transcoded === true;
    this.record = options.firstRecord;
    this.#base = options.base;
    this.#line = options.firstLine ?? 0;
  }

  /** Scans records at which the kernel stops. Created at the first use, because most files never need it. */
  get #careful(): WindowScan {
    this.#carefulScan ??= new WindowScan(this.#grammar);
    return this.#carefulScan;
  }

  get #kept(): KeptRecords {
    this.#keptRecords ??= new KeptRecords(this.#kernel.capacity, this.#grammar.fields);
    return this.#keptRecords;
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
      else
        this.#kernel.resize(
          Math.min(window.length * 2, Math.max(this.#kernel.maxBytesToEnd, window.length + 1)),
        );
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
    const next = yield* this.#findRecords(isLast);
    if (this.#keptRecords !== undefined && this.#keptRecords.count > 0) yield this.#takeKept();
    return next;
  }

  /** Yields batches, and keeps the last records if there are bad ones among them. */
  *#findRecords(isLast: boolean): Generator<Batch, number, undefined> {
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
    const goodTo = this.#endOfGoodText(bytes, at, to);
    for (;;) {
      kernel.run(at, to);
      if (this.#keptRecords?.hasRoom(kernel.count) === false) {
        yield this.#takeKept();
        // Making that batch may have overwritten the kernel's arrays, in `blankRows`.
        kernel.run(at, to);
      }
      const { count, miscounted, isFull, isDoubtful, lines, next } = kernel;
      const isWhole = next === to || !(isLast || to - next >= this.#kernel.maxBytesToEnd);
      const isEnd = !isFull && !isDoubtful && isWhole;
      const isAlone = (this.#keptRecords?.count ?? 0) === 0 && (isEnd || isFull);
      const isGood =
        isAlone && count > 0 && miscounted.length === 0 && this.#hasGoodText(bytes, kernel, goodTo);
      if (isGood) yield this.#takeFound(kernel);
      else this.#keep(bytes, at, kernel, goodTo, miscounted);
      this.#line += lines;
      at = next;
      if (isFull) continue;
      if (isEnd) return at;

      const careful = this.#careful;
      careful.run(bytes, at, to, isLast);
      if (!this.#kept.hasRoom(careful.count)) yield this.#takeKept();
      this.#keep(bytes, at, careful, goodTo);
      this.#line += careful.lines;
      at = careful.next;
      if (careful.stop === 'FULL') continue;
      if (careful.stop === 'END') return at;

      const lineFeed = this.#endOfRejected(bytes, to);
      const isCut = lineFeed === -1 && !isLast;
      if (isCut && to - at < this.#kernel.maxBytesToEnd) return at;
      const behind = lineFeed === -1 ? to : lineFeed + 1;
      const end = lineFeed === -1 ? to : contentEnd(bytes, lineFeed);
      this.#report(careful.stop, bytes, at, end, this.#line);
      this.#line += countLineFeeds(bytes, at, behind);
      this.#skipping = isCut;
      if (behind === to) return to;
      at = behind;
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

  /** Checks all complete lines at once. @returns an offset up to which no record has bad text; 0 if that is unknown. */
  #endOfGoodText(bytes: Buffer, from: number, to: number): number {
    if (this.#options.hasGoodText) return to;
    const end = bytes.subarray(0, to).lastIndexOf(LF) + 1;
    return badText(bytes.subarray(from, end), this.#isTranscoded) === undefined ? end : 0;
  }

  #hasGoodText(bytes: Uint8Array, { starts, ends, count }: Found, goodTo: number): boolean {
    const end = ends[count * this.#grammar.fields - 1]!;
    return end <= goodTo || badText(bytes.subarray(starts[0]!, end), this.#isTranscoded) === undefined;
  }

  /** Keeps the records found; reports those with bad text, and the miscounted. @param from where the scan began. */
  #keep(bytes: Uint8Array, from: number, found: Found, goodTo: number, miscounted = NONE): void {
    const { count } = found;
    if (count + miscounted.length === 0) return;
    const kept = this.#kept;
    const { fields } = this.#grammar;
    const isGood = count === 0 || this.#hasGoodText(bytes, found, goodTo);
    let line = this.#line;
    let counted = from;
    let other = 0;
    for (let row = 0; row < count; row++) {
      other = this.#reportMiscounted(bytes, miscounted, other, row);
      const start = found.starts[row]!;
      const end = found.ends[(row + 1) * fields - 1]!;
      const code = isGood ? undefined : badText(bytes.subarray(start, end), this.#isTranscoded);
      if (code !== undefined) {
        line += countLineFeeds(bytes, counted, start);
        counted = start;
        this.#report(code, bytes, start, end, line);
        continue;
      }
      kept.add(found, row, this.record++);
    }
    this.#reportMiscounted(bytes, miscounted, other, count);
  }

  /** Reports the miscounted records before this row. @returns the index in `miscounted` after the last of them. */
  #reportMiscounted(bytes: Uint8Array, miscounted: Int32Array, from: number, row: number): number {
    let at = from;
    for (; at < miscounted.length && miscounted[at] === row; at += MISCOUNTED_INTS) {
      const start = miscounted[at + 1]!;
      const end = contentEnd(bytes, miscounted[at + 2]!);
      const line = this.#line + miscounted[at + 4]!;
      this.#report('SOURCE_FIELD_COUNT', bytes, start, end, line, miscounted[at + 3]!);
    }
    return at;
  }

  #takeKept(): Batch {
    return this.#batch(this.#kept.take());
  }

  #takeFound({ starts, ends, count }: Found): Batch {
    if (this.#numbers.length < count) this.#numbers = new Int32Array(count);
    for (let row = 0; row < count; row++) this.#numbers[row] = this.record++;
    return this.#batch({ starts, ends, count, numbers: this.#numbers });
  }

  #batch(found: NumberedRecords): Batch {
    const { file, fields, sentFields } = this.#options;
    const { starts, ends, count, numbers } = found;
    return {
      file,
      bytes: this.#kernel.window,
      base: this.#base,
      count,
      fields,
      numbers: numbers.subarray(0, count),
      starts: starts.subarray(0, count),
      ends: ends.subarray(0, count * fields),
      ...(sentFields && { blank: this.#kernel.blankRows(found, count) }),
    };
  }

  /** @param counted how many fields the record has; left out if `#careful`, not the kernel, has found it. */
  #report(
    code: BadRecordCode,
    bytes: Uint8Array,
    start: number,
    end: number,
    line: number,
    counted?: number,
  ): void {
    const { file, fields, maxRecordBytes, firstLine, onBadRecord } = this.#options;
    const record = this.record++;
    if (onBadRecord === undefined) return;
    const { found, problemAt, isUnended } =
      counted === undefined ? this.#careful : { found: counted, problemAt: end, isUnended: false };
    const quoteAt = problemAt - start;
    const facts = { fields, maxRecordBytes, transcoded: this.#isTranscoded, found, quoteAt, isUnended };
    onBadRecord({
      code,
      file,
      record,
      line: firstLine === undefined ? 0 : line,
      byte: this.#base + start,
      raw: Buffer.from(bytes.subarray(start, Math.min(end, start + maxRecordBytes))),
      message: badRecordMessage(code, facts),
    });
  }
}
