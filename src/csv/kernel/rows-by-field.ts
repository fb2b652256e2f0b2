/** What a row of the output is made of, and the plain way to write it: field by field, whatever its size. */
import { ByteWriter } from '../byte-writer.js';
import { COMMA, LF } from '../bytes.js';
import { writeField } from '../write-field.js';
import type { Table } from './table-memory.js';

/** A part from which answers are taken. */
export interface AnswerPart extends Table {
  /** Places of the answers in a result, -1 for one that it has not; null: the caller writes them. */
  readonly answers: readonly number[] | null;
  /** What stands between a record's own fields and its answers. */
  readonly lead: Uint8Array;
  /** What stands behind the answers of each row. */
  readonly tail: Uint8Array;
}

export interface RowsLayout {
  /** Places of the chosen fields of a record. */
  readonly chosen: readonly number[];
  /** The source's delimiter, a byte. */
  readonly delimiter: number;
  /** Whether each record's number ends its row. */
  readonly numbered: boolean;
}

/** For each record which part, which result in it, and its number. */
export interface RowOrder {
  readonly part: Int32Array;
  readonly result: Int32Array;
  readonly numbers: Int32Array;
}

/**
 * Gives what stands behind the own fields of a record whose part has no plain answers, its line feed included; valid
 * until the next call.
 */
export type WriteOther = (record: number) => Uint8Array;

/** Bytes of rows that are given at once, and somewhat more. */
const PIECE_BYTES = 16 * 1024 * 1024;

/** The rows that a `RowsKernel` writes, in pieces. */
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
      writeFields(out, part, order.result[row]!, part.answers, COMMA);
      out.copy(part.tail, 0, part.tail.length);
      if (layout.numbered) out.number(order.numbers[row]!);
      out.byte(LF);
    }
    if (out.length >= PIECE_BYTES) yield out.take();
  }
  if (out.length > 0) yield out.take();
}

function writeFields(
  out: ByteWriter,
  { bytes, fields, starts, ends }: Table,
  at: number,
  chosen: readonly number[],
  delimiter: number,
): void {
  const first = at * fields;
  for (let i = 0; i < chosen.length; i++) {
    if (i > 0) out.byte(COMMA);
    const field = chosen[i]!;
    if (field < 0) continue;
    const start = field === 0 ? starts[at]! : ends[first + field - 1]! + 1;
    writeField(out, bytes, start, ends[first + field]!, delimiter);
  }
}
