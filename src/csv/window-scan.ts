/**
 * The careful byte loop that finds records and fields, and the problem of a malformed record; pure. It scans records at
 * which the kernel (scan-kernel.ts) stops. Invariant: its decisions never depend on where a window begins or ends.
 */
import type { BadRecordCode } from './bad-record.js';
import { CR, LF, QUOTE } from './bytes.js';
import { type Grammar, MAX_ENDS, maxBytesToRecordEnd } from './kernel/scan-kernel.js';

/** Why a scan stopped: the window's end, full arrays, or a malformed record. */
type Stop = 'END' | 'FULL' | Exclude<BadRecordCode, 'SOURCE_NUL' | 'SOURCE_ENCODING'>;

/** Means the end of the window, in place of a byte. */
const END = 256;

/**
 * Scans windows of one file by csv-parse's strict default rules, with the record delimiters CRLF and LF and
 * `skip_empty_lines`: a lone CR is data; quotes open only at the start of a field and close only before a delimiter, a
 * line end or the file's end; an empty line is not a record.
 */
export class WindowScan {
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  /** Records found before the stop. */
  count = 0;
  /** Where the first incomplete record begins. */
  next = 0;
  /** Line feeds before `next`. */
  lines = 0;
  stop: Stop = 'END';
  /** Offset of the misplaced quote, or of the end of a record with a wrong field count. */
  problemAt = 0;
  /** Fields of a record with a wrong field count. */
  found = 0;
  /** Whether the file ends in such a record, without a line end and before its last field. */
  isUnended = false;
  readonly #grammar: Grammar;
  /** 1 for a byte that ends a run of plain bytes. */
  readonly #special = new Uint8Array(END + 1);

  constructor(grammar: Grammar) {
    this.#grammar = grammar;
    const capacity = Math.max(1, Math.floor(MAX_ENDS / grammar.fields));
    this.starts = new Int32Array(capacity);
    this.ends = new Int32Array(capacity * grammar.fields);
    for (const byte of [grammar.delimiter, LF, QUOTE, END]) this.#special[byte] = 1;
  }

  /** Scans `bytes[from, to)`, which begins at a record; with `isLast` the file ends at `to`. */
  run(bytes: Uint8Array, from: number, to: number, isLast: boolean): void {
    const { starts, ends } = this;
    const special = this.#special;
    const { delimiter, fields, maxRecordBytes } = this.#grammar;
    const capacity = starts.length;
    let count = 0;
    let lines = 0;
    let stop: Stop = 'END';
    let start = from;
    let quotedLines = 0;
    let slot = 0;
    let limit = fields;
    let i = from;

    for (;;) {
      let c = i < to ? bytes[i]! : END;
      if (c === QUOTE) {
        // Afterwards i is after the closing quote. Without a closing quote, i is `to` and c is still QUOTE.
        i++;
        while (i < to) {
          const inner = bytes[i++]!;
          if (inner === LF) quotedLines++;
          else if (inner === QUOTE) {
            c = i < to ? bytes[i]! : END;
            if (c !== QUOTE) break;
            i++;
          }
        }
        if (c === QUOTE) {
          if (isLast)
            stop = to - start > maxRecordBytes ? 'SOURCE_RECORD_TOO_LARGE' : 'SOURCE_QUOTE_NOT_CLOSED';
          break;
        }
        if (c === CR) {
          if (i + 1 < to) {
            if (bytes[i + 1] === LF) {
              c = LF;
              i++;
            }
          } else if (!isLast) break;
        }
        if (special[c] === 0) {
          stop = this.#misplaced(start, i - 1);
          break;
        }
      } else {
        while (special[c] === 0) {
          i++;
          if (i === to) {
            c = END;
            break;
          }
          c = bytes[i]!;
        }
        if (c === QUOTE) {
          stop = this.#misplaced(start, i);
          break;
        }
      }

      if (c === delimiter) {
        if (slot < limit) ends[slot] = i;
        slot++;
        i++;
        continue;
      }
      if (c === END && (!isLast || start === i)) break;

      const end = c === LF && i > start && bytes[i - 1] === CR ? i - 1 : i;
      if (end !== start) {
        if (end - start > maxRecordBytes) {
          stop = 'SOURCE_RECORD_TOO_LARGE';
          break;
        }
        if (slot + 1 !== limit) {
          this.found = slot + 1 - limit + fields;
          this.problemAt = i;
          this.isUnended = c === END && slot + 1 < limit;
          stop = 'SOURCE_FIELD_COUNT';
          break;
        }
        ends[slot] = end;
        slot++;
        limit += fields;
        starts[count] = start;
        count++;
      }
      if (c === LF) {
        lines += quotedLines + 1;
        quotedLines = 0;
        i++;
      }
      start = i;
      if (count === capacity) {
        stop = 'FULL';
        break;
      }
    }

    if (stop === 'END' && !isLast && to - start >= maxBytesToRecordEnd(this.#grammar))
      stop = 'SOURCE_RECORD_TOO_LARGE';
    this.count = count;
    this.lines = lines;
    this.next = start;
    this.stop = stop;
  }

  #misplaced(start: number, quote: number): Stop {
    this.problemAt = quote;
    // "Too large" has priority, as in a window that ends before the quote.
    return quote - start > this.#grammar.maxRecordBytes
      ? 'SOURCE_RECORD_TOO_LARGE'
      : 'SOURCE_QUOTE_MISPLACED';
  }
}
