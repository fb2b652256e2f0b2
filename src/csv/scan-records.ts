/** The entry points of the scanner: they scan a stream or a Buffer into Batches, or a Buffer into one table. */
import { takeNumbers } from '../streams/large-buffers.js';
import { copyShifted, ensureCapacity } from './kernel/table-memory.js';
import { RecordScan, type ScanOptions, WINDOW_BYTES } from './record-scan.js';
import type { Batch, Table } from './table.js';

export type { ScanOptions } from './record-scan.js';

/**
 * Scans a stream that begins at a record. The Batches do not depend on how the stream is cut into pieces. Memory holds
 * one window: 256 KiB, or somewhat more than the largest record.
 *
 * @returns the number of the record after the last one.
 */
export async function* scanRecords(
  input: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: ScanOptions,
): AsyncGenerator<Batch, number, undefined> {
  const scan = new RecordScan(options);
  try {
    for await (const piece of input) yield* scan.take(piece);
    yield* scan.end();
    return scan.record;
  } finally {
    scan.release();
  }
}

/**
 * Scans bytes in memory that begin at a record. Memory holds one window besides them, as with a stream: the bytes of a
 * Batch are a copy.
 *
 * @returns the number of the record after the last one.
 */
export function* scanBuffer(bytes: Uint8Array, options: ScanOptions): Generator<Batch, number, undefined> {
  const scan = new RecordScan(options, Math.min(bytes.length + 1, WINDOW_BYTES));
  try {
    yield* scan.take(bytes);
    yield* scan.end();
    return scan.record;
  } finally {
    scan.release();
  }
}

/**
 * Scans all records of bytes in memory, such as a part of results.
 *
 * @param records how many there are, if that is known.
 * @returns a table over the bytes, whose arrays are from `takeNumbers`.
 */
export function scanTable(bytes: Uint8Array, options: ScanOptions, records = FIRST_CAPACITY): Table {
  const { fields } = options;
  let starts = takeNumbers(records);
  let ends = takeNumbers(records * fields);
  let count = 0;
  for (const batch of scanBuffer(bytes, options)) {
    const all = count + batch.count;
    starts = ensureCapacity(starts, all);
    ends = ensureCapacity(ends, all * fields);
    const shift = batch.base - options.base;
    copyShifted(starts, count, batch.starts.subarray(0, batch.count), shift);
    copyShifted(ends, count * fields, batch.ends.subarray(0, batch.count * fields), shift);
    count = all;
  }
  return { bytes, count, fields, starts, ends };
}

const FIRST_CAPACITY = 1024;
