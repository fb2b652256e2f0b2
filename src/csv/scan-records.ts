/** The two entry points of the scanner: they scan a stream or a Buffer into Batches. */
import { RecordScan, type ScanOptions } from './record-scan.js';
import type { Batch } from './table.js';

export type { BadRecord, BadRecordCode } from './bad-record.js';
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
 * Scans bytes in memory, such as a part of results, that begin at a record. All bytes are one window: the offsets in all
 * Batches are relative to `bytes[0]`.
 *
 * @returns the number of the record after the last one.
 */
export function* scanBuffer(bytes: Uint8Array, options: ScanOptions): Generator<Batch, number, undefined> {
  const scan = new RecordScan(options, bytes.length + 1);
  try {
    yield* scan.take(bytes);
    yield* scan.end();
    return scan.record;
  } finally {
    scan.release();
  }
}
