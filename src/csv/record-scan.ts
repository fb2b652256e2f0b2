/**
 * The scan of one file, window after window: Batches of good records, each bad record told, and the place
 * from which scanning goes on after it. What is found never depends on where the windows are cut.
 */
import { type BadRecord, type BadRecordCode, badText } from './bad-record.js';
import type { Batch } from './batch.js';
import { contentEnd, countLineFeeds, indexOfLineFeed } from './bytes.js';
import { type Grammar, horizonOf } from './grammar.js';
import { ScanKernel } from './kernel/scan-kernel.js';
import { WindowScan } from './window-scan.js';

export interface ScanOptions {
  /** One ASCII character. */
  readonly delimiter: string;
  /** Fields that every record must have. */
  readonly fields: number;
  /** A record's bytes without its line end; a larger one is bad, and never held whole. */
  readonly maxRecordBytes: number;
  /** Index of the source file. */
  readonly file: number;
  /** Decoded offset in the file of the first byte scanned, which begins a record. */
  readonly base: number;
  /** Number of the first record. */
  readonly firstRecord: number;
  /** Physical line of the first byte; left out where it is not known. */
  readonly firstLine?: number;
  /** The bytes were decoded from another encoding than UTF-8. */
  readonly transcoded?: boolean;
  /** Throws to stop, returns to skip the record. */
  readonly onBadRecord: (bad: BadRecord) => void;
}

/** A window fits the processor's cache; its records are one Batch. */
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
  /** Finds what is certainly well-formed. */
  readonly #kernel: ScanKernel;
  readonly #grammar: Grammar;
  readonly #horizon: number;
  #judge: WindowScan | undefined;
  /** Bytes in the kernel's window. */
  #filled = 0;
  /** Decoded offset of the window's first byte. */
  #base: number;
  #line: number;
  /** Inside a physical line whose record was already refused. */
  #skipping = false;

  /** @param windowBytes to begin with: it grows where a record needs more. */
  constructor(options: ScanOptions, windowBytes = WINDOW_BYTES) {
    const { fields, maxRecordBytes } = options;
    const grammar = { delimiter: options.delimiter.charCodeAt(0), fields, maxRecordBytes };
    this.#options = options;
    this.#kernel = new ScanKernel(grammar, windowBytes);
    this.#grammar = grammar;
    this.#horizon = horizonOf(grammar);
    this.record = options.firstRecord;
    this.#base = options.base;
    this.#line = options.firstLine ?? 0;
  }

  /** Judges whatever the kernel stops at; most files have nothing of that kind. */
  get #window(): WindowScan {
    this.#judge ??= new WindowScan(this.#grammar);
    return this.#judge;
  }

  /** Takes the next bytes of the file; gives the records of each window that they fill. */
  *take(piece: Uint8Array): Generator<Batch, void, undefined> {
    for (let used = 0; ; ) {
      const { window } = this.#kernel;
      const size = Math.min(piece.length - used, window.length - this.#filled);
      window.set(piece.subarray(used, used + size), this.#filled);
      used += size;
      this.#filled += size;
      if (this.#filled < window.length) return;
      const taken = yield* this.#scan(false);
      if (taken === 0)
        this.#kernel.grow(Math.min(window.length * 2, Math.max(this.#horizon, window.length + 1)));
      else this.#keepFrom(taken);
    }
  }

  /** Gives what is left: the file ends here. */
  *end(): Generator<Batch, void, undefined> {
    yield* this.#scan(true);
  }

  /** Gives up the window: neither the scan nor a Batch of it is used after this. */
  release(): void {
    this.#kernel.release();
  }

  #keepFrom(taken: number): void {
    this.#kernel.window.copyWithin(0, taken, this.#filled);
    this.#base += taken;
    this.#filled -= taken;
  }

  /**
   * Scans the window. Returns where scanning must go on with more bytes: 0 where the window is too small for
   * a record. With `isLast` all is taken.
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
      const isWhole = at === to || !(isLast || to - at >= this.#horizon);
      if (!kernel.isDoubtful && isWhole) return at;

      const careful = this.#window;
      careful.run(bytes, at, to, isLast);
      if (careful.count > 0) yield* this.#batches(bytes, at, careful);
      this.#line += careful.lines;
      at = careful.next;
      if (careful.stop === 'FULL') continue;
      if (careful.stop === 'END') return at;

      const lineFeed = this.#endOfRejected(bytes, to);
      const isCut = lineFeed === -1 && !isLast;
      if (isCut && to - at < this.#horizon) return at;
      const next = lineFeed === -1 ? to : lineFeed + 1;
      const end = lineFeed === -1 ? to : contentEnd(bytes, at, lineFeed);
      this.#tell(careful.stop, bytes, at, end, this.#line);
      this.#line += countLineFeeds(bytes, at, next);
      this.#skipping = isCut;
      if (next === to) return to;
      at = next;
    }
  }

  /** The line feed that ends the bytes given up with a malformed record, or -1. */
  #endOfRejected(bytes: Uint8Array, to: number): number {
    const { stop, seenAt, next } = this.#window;
    // A wrong field count costs exactly its record, a misplaced quote the physical line in which it was
    // seen. Where no end was found, a quote is open that swallows what follows: only the first line goes.
    const isSeen = stop === 'SOURCE_FIELD_COUNT' || stop === 'SOURCE_QUOTE_MISPLACED';
    return indexOfLineFeed(bytes, isSeen ? seenAt : next, to);
  }

  /** The window's records as one Batch or, where text is bad, as Batches around the bad ones. */
  *#batches(bytes: Uint8Array, from: number, found: Found): Generator<Batch, void, undefined> {
    const { starts, ends, count } = found;
    const { fields, transcoded = false } = this.#options;
    const end = ends[count * fields - 1]!;
    if (badText(bytes.subarray(starts[0]!, end), transcoded) === undefined) {
      yield this.#batch(bytes, found, 0, count);
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
      if (record > first) yield this.#batch(bytes, found, first, record);
      line += countLineFeeds(bytes, counted, start);
      counted = start;
      this.#tell(code, bytes, start, recordEnd, line);
      first = record + 1;
    }
    if (count > first) yield this.#batch(bytes, found, first, count);
  }

  #batch(bytes: Uint8Array, { starts, ends }: Found, first: number, last: number): Batch {
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
    };
  }

  #tell(code: BadRecordCode, bytes: Uint8Array, start: number, end: number, line: number): void {
    const { file, maxRecordBytes, onBadRecord } = this.#options;
    const raw = Buffer.from(bytes.subarray(start, Math.min(end, start + maxRecordBytes)));
    const known = this.#options.firstLine === undefined ? 0 : line;
    const record = this.record++;
    onBadRecord({
      code,
      file,
      record,
      line: known,
      byte: this.#base + start,
      raw,
      message: this.#message(code, start),
    });
  }

  #message(code: BadRecordCode, start: number): string {
    const { fields, maxRecordBytes, transcoded } = this.#options;
    const { found, seenAt } = this.#window;
    switch (code) {
      case 'SOURCE_QUOTE_NOT_CLOSED':
        return 'a quoted field is never closed';
      case 'SOURCE_QUOTE_MISPLACED':
        return `the quote at byte ${seenAt - start} of the record neither opens nor closes a field`;
      case 'SOURCE_FIELD_COUNT':
        return `the number of fields is ${found}, not ${fields}`;
      case 'SOURCE_RECORD_TOO_LARGE':
        return `longer than the ${maxRecordBytes} bytes that a record may have`;
      case 'SOURCE_NUL':
        return 'a NUL byte';
      case 'SOURCE_ENCODING':
        return transcoded
          ? 'bytes without meaning in the encoding it is read in'
          : 'bytes that are not UTF-8';
    }
  }
}
