/** Turns batches into plain values that tests can compare. */
import type { BadRecord } from '../../../src/csv/bad-record.js';
import type { ScanOptions } from '../../../src/csv/scan-records.js';
import type { Batch } from '../../../src/csv/table.js';
import { fieldText } from '../../../src/csv/table.js';

export interface FoundRecord {
  readonly record: number;
  readonly byte: number;
  readonly values: readonly string[];
}

export interface FoundBad extends Omit<BadRecord, 'raw'> {
  readonly raw: string;
}

/** Good and bad records. */
export type Found = FoundRecord | FoundBad;

export function recordsOf(batch: Batch): FoundRecord[] {
  return Array.from({ length: batch.count }, (_, r) => ({
    record: batch.numbers[r]!,
    byte: batch.base + batch.starts[r]!,
    values: Array.from({ length: batch.fields }, (_, k) => {
      const at = r * batch.fields + k;
      return fieldText(batch.bytes, k === 0 ? batch.starts[r]! : batch.ends[at - 1]! + 1, batch.ends[at]!);
    }),
  }));
}

/**
 * Runs a scan to its end and returns all records in their order, good and bad.
 * @param fields of each record.
 * @param scan gets the options to use.
 */
export async function foundBy(
  fields: number,
  changes: Partial<ScanOptions>,
  scan: (options: ScanOptions) => Iterable<Batch> | AsyncIterable<Batch>,
): Promise<Found[]> {
  const found: Found[] = [];
  const options: ScanOptions = {
    delimiter: ',',
    fields,
    maxRecordBytes: 1_000_000,
    file: 0,
    base: 0,
    firstRecord: 1,
    firstLine: 1,
    onBadRecord: (bad) => found.push({ ...bad, raw: Buffer.from(bad.raw).toString('latin1') }),
    ...changes,
  };
  for await (const batch of scan(options)) found.push(...recordsOf(batch));
  return found.sort((a, b) => a.record - b.record);
}

/** `bytes` cut before each of the given offsets. */
export function cutAt(bytes: Buffer, offsets: readonly number[]): Buffer[] {
  const borders = [0, ...offsets.map((o) => Math.min(o, bytes.length)).sort((a, b) => a - b), bytes.length];
  return borders.slice(1).map((border, i) => bytes.subarray(borders[i], border));
}
