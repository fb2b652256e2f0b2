/** One part of results as a table over its bytes: where every field of every result stands. */
import { scanBuffer } from '../csv/scan-records.js';
import type { PartReference } from '../types.js';
import { partScan, readPartHeader } from './part-format.js';

/** Field `k` of result `r` stands at `fieldStart(table, r, k)` to `table.ends[r * fields + k]`, quotes included. */
export interface PartTable {
  readonly reference: PartReference;
  readonly columns: readonly string[];
  readonly bytes: Uint8Array;
  readonly count: number;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

/**
 * Reads a decoded part. An empty one is a table without columns and results.
 * @throws UntrustedError when it is no well-formed CSV with a header.
 */
export function readPartTable(reference: PartReference, bytes: Buffer): PartTable {
  if (bytes.length === 0) return { reference, columns: [], bytes, count: 0, starts: none, ends: none };
  const header = readPartHeader(reference, bytes);
  const starts: Int32Array[] = [];
  const ends: Int32Array[] = [];
  const body = bytes.subarray(header.bytes);
  for (const batch of scanBuffer(body, partScan(reference, header))) {
    starts.push(batch.starts.slice(0, batch.count).map((at) => at + batch.base));
    ends.push(batch.ends.slice(0, batch.count * batch.fields).map((at) => at + batch.base));
  }
  return {
    reference,
    columns: header.columns,
    bytes,
    count: starts.reduce((sum, some) => sum + some.length, 0),
    starts: concatenate(starts),
    ends: concatenate(ends),
  };
}

/** Where a field of a result begins. */
export function fieldStart(table: PartTable, result: number, field: number): number {
  const at = result * table.columns.length + field;
  return field === 0 ? table.starts[result]! : table.ends[at - 1]! + 1;
}

const none = new Int32Array(0);

function concatenate(pieces: readonly Int32Array[]): Int32Array {
  if (pieces.length === 1) return pieces[0]!;
  const whole = new Int32Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
