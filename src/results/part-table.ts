/** One part of results as a table over its bytes: where every field of every result stands. */
import { scanBuffer } from '../csv/scan-records.js';
import { takeNumbers } from '../streams/buffer-pool.js';
import type { PartReference } from '../types.js';
import { grown } from './growing-array.js';
import { partScan, readPartHeader } from './part-format.js';

/** Places in a part stand in numbers of 32 bits, and the scan needs some room of its own beside it. */
export const PART_BYTES_AT_MOST = 0x7000_0000;

/** Field `k` of result `r` stands at `fieldStart(table, r, k)` to `table.ends[r * fields + k]`, quotes included. */
export interface PartTable {
  readonly reference: PartReference;
  readonly columns: readonly string[];
  /** Those behind the header. */
  readonly bytes: Uint8Array;
  readonly count: number;
  /** The first `count` are used; of `ends` as many times the number of columns. */
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

/**
 * Reads a decoded part. An empty one is a table without columns and results.
 * @param reference with the number of its results, where that is known.
 * @throws UntrustedError when it is no well-formed CSV with a header.
 */
export function readPartTable(
  reference: PartReference & { readonly records?: number },
  bytes: Buffer,
): PartTable {
  if (bytes.length === 0) return { reference, columns: [], bytes, count: 0, starts: none, ends: none };
  const header = readPartHeader(reference, bytes);
  const fields = header.columns.length;
  const results = bytes.subarray(header.bytes);
  let starts = takeNumbers(reference.records ?? FIRST_CAPACITY);
  let ends = takeNumbers(starts.length * fields);
  let count = 0;
  for (const batch of scanBuffer(results, partScan(reference, header))) {
    starts = grown(starts, count + batch.count);
    ends = grown(ends, (count + batch.count) * fields);
    starts.set(batch.starts, count);
    ends.set(batch.ends, count * fields);
    count += batch.count;
  }
  return { reference, columns: header.columns, bytes: results, count, starts, ends };
}

/** Where a field of a result begins. */
export function fieldStart(table: PartTable, result: number, field: number): number {
  const at = result * table.columns.length + field;
  return field === 0 ? table.starts[result]! : table.ends[at - 1]! + 1;
}

const none = new Int32Array(0);
const FIRST_CAPACITY = 1024;
