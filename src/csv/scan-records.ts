/** Records of a stream or of a Buffer as Batches: the two faces of the one scanner. */
import type { Batch } from './batch.js';
import { RecordScan, type ScanOptions } from './record-scan.js';

export type { BadRecord, BadRecordCode } from './bad-record.js';
export type { ScanOptions } from './record-scan.js';

/**
 * Scans what a stream gives, which begins at a record. However it is cut into pieces, the Batches are the
 * same, and memory holds one window: 256 KiB, or somewhat more than a record may have.
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
 * The same over bytes that are in memory already (a part of a result), which begin at a record. They are one window:
 * the places in all Batches are counted from their begin.
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
