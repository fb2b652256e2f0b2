/** Lists drift by key: which answers of records that were sent again differ from those of the base, and how. */
import { parse } from 'csv-parse/sync';
import { scanRecords } from '../csv/scan-records.js';
import { type Batch, fieldValue } from '../csv/table.js';
import { COLUMN_BITS, type ColumnBits } from './answer-drift.js';
import { MAX_ROW_BYTES, type OutputTable } from './delta-rows.js';
import type { RowPlaces } from './row-places.js';
import type { SortedPairs } from './sorted-pairs.js';

/** The number of the record, its key where the list has that, the column, the value in the base and the value now. */
export type KeyDifference = readonly [record: number, ...texts: string[]];

export interface DriftList {
  /** The content of the base; undefined if it cannot be read as it was published. Then the earlier values are empty. */
  openBase(): Promise<AsyncIterable<Uint8Array> | undefined>;
  append(differences: readonly KeyDifference[]): void;
}

/**
 * Lists the differences in the order of the base.
 * @param pairs rows with another answer: their numbers in the base and in the output, and the columns that differ.
 * @param columns names of the columns with answers, that of the status first.
 */
export async function listDrift(
  { openBase, append }: DriftList,
  pairs: SortedPairs,
  table: OutputTable,
  columns: readonly string[],
  places: RowPlaces,
): Promise<void> {
  /** @param before returns a value in the base. */
  const differences = (row: number, bits: ColumnBits, before: (field: number) => string) => {
    const now: readonly string[] = parse(Buffer.from(places.row(row)))[0]!;
    const key = table.keyFields.map((field) => now[field]!);
    return columns.flatMap((column, index): KeyDifference[] => {
      const field = table.answerFields[index]!;
      const differs = index < COLUMN_BITS && (bits & (1 << index)) !== 0;
      return differs ? [[row + 1, ...key, column, before(field), now[field]!]] : [];
    });
  };
  const base = await openBase();
  const wanted = pairs.sorted();
  if (base === undefined) {
    for (const [, row, bits] of wanted) append(differences(row, bits, () => ''));
    return;
  }
  let next = wanted.next();
  for await (const batch of rowsOf(base, table.columns.length)) {
    for (; !next.done; next = wanted.next()) {
      const [old, row, bits] = next.value;
      // Row numbers begin with 0, and the header is the record before them.
      const at = old + 1 - batch.numbers[0]!;
      if (at >= batch.count) break;
      append(differences(row, bits, (field) => fieldValue(batch, at, field)));
    }
    if (next.done) return;
  }
}

/** All records of an output, the header as number 0. */
function rowsOf(content: AsyncIterable<Uint8Array>, fields: number): AsyncGenerator<Batch> {
  return scanRecords(content, {
    delimiter: ',',
    fields,
    maxRecordBytes: MAX_ROW_BYTES,
    file: 0,
    base: 0,
    firstRecord: 0,
    hasGoodText: true,
  });
}
