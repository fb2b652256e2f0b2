/** The unit in which records are read: consecutive whole records of one file in one Buffer. */
import type { Table } from './table.js';

/** Arrays and bytes are valid only until the next batch is requested. */
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
}

/** Bytes from the start of record `from` to the end of record `to - 1`, line ends between them included. */
export function bytesBetween({ starts, ends, fields }: Batch, from: number, to: number): number {
  return ends[to * fields - 1]! - starts[from]!;
}

/** Index after the last of the records `from` to `to` (exclusive) that fits into `maxBytes`; `from` if none fits. */
export function endOfFitting(batch: Batch, from: number, to: number, maxBytes: number): number {
  if (to === from || bytesBetween(batch, from, to) <= maxBytes) return to;
  let end = from;
  while (bytesBetween(batch, from, end + 1) <= maxBytes) end++;
  return end;
}
