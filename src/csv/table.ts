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
