/** Estimates how long the columns of a source are, from a few records of each batch, so that the others cost nothing. */
import { type Batch, fieldEnd, fieldStart } from '../csv/table.js';
import type { Source } from '../types.js';

/** About how many fields of a batch are looked at; at least one record is. */
const FIELDS = 256;

export interface ColumnBytes {
  add(batch: Batch): void;
  /** Bytes of a field of each column on average, with its quotes and delimiter. */
  average(): readonly number[];
}

export function createColumnBytes(columns: number): ColumnBytes {
  const sums = new Float64Array(columns);
  let records = 0;
  return {
    add: (batch) => {
      const wanted = Math.min(Math.max(Math.floor(FIELDS / columns), 1), batch.count);
      const step = Math.floor(batch.count / wanted);
      for (let row = 0; row < wanted * step; row += step) {
        for (let field = 0; field < columns; field++) {
          sums[field]! += fieldEnd(batch, row, field) - fieldStart(batch, row, field) + 1;
        }
      }
      records += wanted;
    },
    average: () => Array.from(sums, (sum) => Math.round((10 * sum) / Math.max(records, 1)) / 10),
  };
}

/**
 * The share of a source's bytes that is in these columns, from 0 to 1. If their lengths are not known, all columns count
 * as equally long.
 */
export function shareOf(
  { columns, columnBytes }: Pick<Source, 'columns' | 'columnBytes'>,
  chosen: readonly string[],
): number {
  const lengthOf = (name: string) => columnBytes?.[columns.indexOf(name)] ?? 1;
  const sum = (names: readonly string[]) => names.reduce((bytes, name) => bytes + lengthOf(name), 0);
  return Math.min(sum(chosen) / Math.max(sum(columns), 1), 1);
}
