/**
 * Records or results as raw CSV bytes with the offsets of their fields. Batches, record blocks and part tables have this
 * shape, so that the same functions and kernels work on all of them.
 */
import { QUOTE } from './bytes.js';

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

/** The value of a raw field as text: without its quotes, with doubled quotes made single. */
export function fieldText(bytes: Uint8Array, start: number, end: number): string {
  const isQuoted = bytes[start] === QUOTE && end > start;
  const from = isQuoted ? start + 1 : start;
  const size = (isQuoted ? end - 1 : end) - from;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, size).toString('utf8');
  return isQuoted && text.includes('""') ? text.replaceAll('""', '"') : text;
}

/** Whether a raw field has the same bytes in two rows. Fields with different bytes may still have equal values. */
export function isEqualField(table: Table, field: number, row: number, other: number): boolean {
  const { bytes } = table;
  const [start, otherStart] = [fieldStart(table, row, field), fieldStart(table, other, field)];
  const size = fieldEnd(table, row, field) - start;
  if (fieldEnd(table, other, field) - otherStart !== size) return false;
  for (let at = 0; at < size; at++) if (bytes[start + at] !== bytes[otherStart + at]) return false;
  return true;
}

/**
 * The unit in which records are read: whole records of one file in one Buffer, in their order. Between two of them there
 * may be others that the batch leaves out, such as rejected ones. Arrays and bytes are valid only until the next batch is
 * requested.
 */
export interface Batch extends Table {
  /** Index of the source file. */
  readonly file: number;
  /** Decoded UTF-8. */
  readonly bytes: Uint8Array;
  /** Decoded offset in the file of `bytes[0]`. */
  readonly base: number;
  /** Record numbers in the source, 1-based, ascending: `[count]`. Between consecutive numbers there is no other record. */
  readonly numbers: Int32Array;
  /** Records in the batch, at least one. */
  readonly count: number;
  /** Indexes of the records that are blank in all sent fields, ascending; left out unless `sentFields` was given. */
  readonly blank?: Int32Array;
}

/** The `count` records of a batch from index `from` on, without `blank`. */
export function sliceOf(batch: Batch, from: number, count: number): Batch {
  const { blank: _, ...whole } = batch;
  const { fields, numbers, starts, ends } = batch;
  return {
    ...whole,
    numbers: numbers.subarray(from, from + count),
    count,
    starts: starts.subarray(from, from + count),
    ends: ends.subarray(from * fields, (from + count) * fields),
  };
}

/**
 * A batch of some records of another one.
 *
 * @param rows their indexes, ascending, at least one. Arrays of the picked batch are its own.
 */
export function rowsOf(batch: Batch, rows: readonly number[] | Int32Array): Batch {
  const from = rows[0]!;
  const count = rows.length;
  if (rows[count - 1]! - from === count - 1) return sliceOf(batch, from, count);
  const { blank: _, ...whole } = batch;
  const { fields } = batch;
  const numbers = new Int32Array(count);
  const starts = new Int32Array(count);
  const ends = new Int32Array(count * fields);
  for (let at = 0; at < count; at++) {
    const row = rows[at]!;
    numbers[at] = batch.numbers[row]!;
    starts[at] = batch.starts[row]!;
    for (let field = 0; field < fields; field++)
      ends[at * fields + field] = batch.ends[row * fields + field]!;
  }
  return { ...whole, numbers, count, starts, ends };
}

/** Index of the first number that is not below this one; the length if all are below it. @param numbers ascending. */
export function indexFrom(numbers: Int32Array, number: number, count = numbers.length): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! < number) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Bytes from the start of row `from` to the end of row `to - 1`, with all that is between them. */
export function bytesBetween({ starts, ends, fields }: Offsets, from: number, to: number): number {
  return ends[to * fields - 1]! - starts[from]!;
}

/** Whether there are other records between those of the rows `from` to `to` (exclusive). */
export function hasGaps({ numbers }: Pick<Batch, 'numbers'>, from: number, to: number): boolean {
  return numbers[to - 1]! - numbers[from]! !== to - 1 - from;
}

/** Bytes of the rows `from` to `to` (exclusive), with line ends between them but without records that are left out. */
export function recordBytes(batch: Offsets & Pick<Batch, 'numbers'>, from: number, to: number): number {
  if (!hasGaps(batch, from, to)) return bytesBetween(batch, from, to);
  let bytes = 0;
  for (let row = from; row < to; row++) bytes += bytesBetween(batch, row, row + 1);
  return bytes;
}

/**
 * Index after the last of the rows `from` to `to` (exclusive) that fits into `maxBytes`; `from` if none fits.
 *
 * @param bytesOf bytes of the rows between two indexes: no more than `bytesBetween`.
 */
export function endOfFitting<T extends Offsets>(
  table: T,
  from: number,
  to: number,
  maxBytes: number,
  bytesOf: (table: T, from: number, to: number) => number = bytesBetween,
): number {
  if (to === from || bytesBetween(table, from, to) <= maxBytes) return to;
  let end = from;
  while (end < to && bytesOf(table, from, end + 1) <= maxBytes) end++;
  return end;
}
