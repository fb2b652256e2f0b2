/** Records of a stream or of a Buffer as Batches: the two faces of the one scanner. */
import type { Batch } from './batch.js';
import { RecordScan, type ScanOptions } from './record-scan.js';

export type { BadRecord, BadRecordCode } from './bad-record.js';
export type { ScanOptions } from './record-scan.js';

/** A window fits the processor's cache; its records are one Batch. */
const WINDOW_BYTES = 256 * 1024;

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
  let window: Buffer = Buffer.allocUnsafeSlow(WINDOW_BYTES);
  let base = options.base;
  let filled = 0;
  for await (const piece of input) {
    let used = 0;
    for (;;) {
      const size = Math.min(piece.length - used, window.length - filled);
      window.set(piece.subarray(used, used + size), filled);
      used += size;
      filled += size;
      if (filled < window.length) break;
      const taken = yield* scan.scan(window, 0, filled, false, base);
      if (taken === 0) window = grown(window, scan.horizon);
      window.copyWithin(0, taken, filled);
      base += taken;
      filled -= taken;
    }
  }
  yield* scan.scan(window, 0, filled, true, base);
  return scan.record;
}

/**
 * The same over bytes that are in memory already (a part of a result), which begin at a record.
 *
 * @returns the number of the record after the last one.
 */
export function* scanBuffer(bytes: Uint8Array, options: ScanOptions): Generator<Batch, number, undefined> {
  const scan = new RecordScan(options);
  let from = 0;
  let size = WINDOW_BYTES;
  while (from + size < bytes.length) {
    const taken = yield* scan.scan(bytes, from, from + size, false, options.base);
    if (taken === from) size *= 2;
    from = taken;
  }
  yield* scan.scan(bytes, from, bytes.length, true, options.base);
  return scan.record;
}

function grown(window: Buffer, horizon: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(Math.min(window.length * 2, Math.max(horizon, window.length + 1)));
  window.copy(larger);
  return larger;
}
