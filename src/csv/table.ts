/**
 * Records or results as raw CSV bytes with the offsets of their fields. Batches, record blocks and part tables have this
 * shape, so that the same functions and kernels work on all of them.
 */
import { fieldText } from './write-field.js';

export interface Table {
  readonly bytes: Uint8Array;
  /** Number of rows. The arrays below may be longer than needed. */
  readonly count: number;
  /** Number of fields of each row. */
  readonly fields: number;
  /** Offset in `bytes` at which each row begins: `[count]`. */
  readonly starts: Int32Array;
  /**
   * Offset at which each field ends, exclusive: `[count * fields]`. A field begins at `fieldStart`. Fields are raw, with
   * their quotes. The last field ends before LF or CRLF.
   */
  readonly ends: Int32Array;
}

type Offsets = Pick<Table, 'fields' | 'starts' | 'ends'>;

/** The offset at which a field of a row begins: after the delimiter that ends the field before it. */
export function fieldStart({ fields, starts, ends }: Offsets, row: number, field: number): number {
  return field === 0 ? starts[row]! : ends[row * fields + field - 1]! + 1;
}

/** The offset at which a field of a row ends, exclusive. */
export function fieldEnd({ fields, ends }: Omit<Offsets, 'starts'>, row: number, field: number): number {
  return ends[row * fields + field]!;
}

/** The value of a field: without its quotes, with doubled quotes made single. */
export function fieldValue(table: Table, row: number, field: number): string {
  return fieldText(table.bytes, fieldStart(table, row, field), fieldEnd(table, row, field));
}

/**
 * The unit in which records are read: consecutive whole records of one file in one Buffer. Arrays and bytes are valid
 * only until the next batch is requested.
 */
export interface Batch extends Table {
  /** Index of the source file. */
  readonly file: number;
  /** Decoded UTF-8. */
  readonly bytes: Uint8Array;
  /** Decoded offset in the file of `bytes[0]`. */
  readonly base: number;
  /** Number of record 0 in the source, 1-based. Numbers are consecutive: a batch ends at a rejected record. */
  readonly firstRecord: number;
  /** Records in the batch, at least one. */
  readonly count: number;
  /** Indexes of the records that are blank in all sent fields, ascending; left out if nobody asked for them. */
  readonly blank?: Int32Array;
}

/** The records of a batch from index `from` on, `count` of them. Does not say which are blank. */
export function sliceOf(batch: Batch, from: number, count: number): Batch {
  const { blank: _, ...whole } = batch;
  const { fields, firstRecord, starts, ends } = batch;
  return {
    ...whole,
    firstRecord: firstRecord + from,
    count,
    starts: starts.subarray(from, from + count),
    ends: ends.subarray(from * fields, (from + count) * fields),
  };
}

/** Bytes from the start of row `from` to the end of row `to - 1`, line ends between them included. */
export function bytesBetween({ starts, ends, fields }: Offsets, from: number, to: number): number {
  return ends[to * fields - 1]! - starts[from]!;
}

/** Index after the last of the rows `from` to `to` (exclusive) that fits into `maxBytes`; `from` if none fits. */
export function endOfFitting(table: Offsets, from: number, to: number, maxBytes: number): number {
  if (to === from || bytesBetween(table, from, to) <= maxBytes) return to;
  let end = from;
  while (bytesBetween(table, from, end + 1) <= maxBytes) end++;
  return end;
}
