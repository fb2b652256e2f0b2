/** The layout of output rows, and a writer without WebAssembly, field by field, for tables of any size. */
import { ByteWriter } from '../byte-writer.js';
import { COMMA, LF } from '../bytes.js';
import { fieldEnd, fieldStart, type Table } from '../table.js';
import { writeField } from '../write-field.js';

/** A part that holds answers. */
export interface AnswerPart extends Table {
  /** Indexes of the answers among a result's fields, -1 for a missing answer; null if the caller writes the answers. */
  readonly answers: readonly number[] | null;
  /** Whether the answers are fields of an output, which are copied unchanged. */
  readonly isWritten?: boolean;
  /** Written between a record's own fields and its answers. */
  readonly lead: Uint8Array;
  /** Written after the answers. */
  readonly tail: Uint8Array;
  /** Written after the record's number. */
  readonly end: Uint8Array;
}

export interface RowsLayout {
  /** Indexes of the record's fields to write, in order. */
  readonly chosen: readonly number[];
  /** The source's delimiter, a byte. */
  readonly delimiter: number;
  /** Whether each record's number follows its answers. */
  readonly numbered: boolean;
}

/** For each record: the index of its part, of its result in the part, and its number. */
export interface RowOrder {
  readonly part: Int32Array;
  readonly result: Int32Array;
  readonly numbers: Int32Array;
}

/**
 * Writes the end of a row, after the record's own fields, including the line feed. Called if the part has no `answers`.
 *
 * @param record its index.
 * @returns bytes that are valid until the next call.
 */
export type WriteOther = (record: number) => Uint8Array;

/** Yields the rows when they have at least this many bytes. */
const PIECE_BYTES = 16 * 1024 * 1024;

/** Writes the same rows as a `RowsKernel`, in pieces. */
export function* rowsByField(
  layout: RowsLayout,
  records: Table,
  parts: readonly AnswerPart[],
  order: RowOrder,
  writeOther: WriteOther,
): Generator<Buffer, void, undefined> {
  const out = new ByteWriter(64 * 1024);
  for (let row = 0; row < records.count; row++) {
    writeFields(out, records, row, layout.chosen, layout.delimiter);
    const part = parts[order.part[row]!]!;
    if (part.answers === null) {
      const other = writeOther(row);
      out.copy(other, 0, other.length);
    } else {
      out.copy(part.lead, 0, part.lead.length);
      if (part.answers.length > 0) out.byte(COMMA);
      if (part.isWritten) copyFields(out, part, order.result[row]!, part.answers);
      else writeFields(out, part, order.result[row]!, part.answers, COMMA);
      out.copy(part.tail, 0, part.tail.length);
      if (layout.numbered) out.number(order.numbers[row]!);
      out.copy(part.end, 0, part.end.length);
      out.byte(LF);
    }
    if (out.length >= PIECE_BYTES) yield out.take();
  }
  if (out.length > 0) yield out.take();
}

/** Copies raw fields unchanged. */
function copyFields(out: ByteWriter, table: Table, row: number, chosen: readonly number[]): void {
  for (const [i, field] of chosen.entries()) {
    if (i > 0) out.byte(COMMA);
    if (field >= 0) out.copy(table.bytes, fieldStart(table, row, field), fieldEnd(table, row, field));
  }
}

function writeFields(
  out: ByteWriter,
  table: Table,
  row: number,
  chosen: readonly number[],
  delimiter: number,
): void {
  for (let i = 0; i < chosen.length; i++) {
    if (i > 0) out.byte(COMMA);
    const field = chosen[i]!;
    if (field < 0) continue;
    writeField(out, table.bytes, fieldStart(table, row, field), fieldEnd(table, row, field), delimiter);
  }
}
