/**
 * Drift by key: counts the records that were sent again and have another answer than in the base, whatever was sent.
 * Compares short hashes of the answers, which the row digests hold: of the answers themselves nothing is read.
 */
import { ROW_ENTRY_INTS } from '../csv/kernel/digest-kernel.js';
import type { Drift } from '../types.js';

export interface DriftOptions {
  /** Names of the columns that hold answers, in the order of their hashes; the first one is that of the status. */
  readonly columns: readonly string[];
  /** Whether the record of a row was sent. @param row from 0. */
  readonly isSent: (row: number) => boolean;
}

/** A bit for each of the first 32 columns, set where the answers differ. */
export type ColumnBits = number;
export const COLUMN_BITS = 32;

export interface AnswerDrift {
  /**
   * Adds a row of the output with the row of the base that has its key: their entries, and where they begin.
   * @param isSame whether all values of both are the same.
   */
  add(row: number, isSame: boolean, old: Int32Array, found: number, now: Int32Array, at: number): void;
  /** Undefined if nothing was compared. */
  result(): Drift | undefined;
}

/** @param onChanged gets each row with another answer: of the base, and of the output; and the columns that differ. */
export function createAnswerDrift(
  { columns, isSent }: DriftOptions,
  onChanged: (base: number, row: number, columns: ColumnBits) => void,
): AnswerDrift {
  const counts = new Float64Array(columns.length);
  let compared = 0;
  let changed = 0;
  return {
    add: (row, isSame, old, found, now, at) => {
      if (!isSent(row)) return;
      compared += 1;
      if (isSame) return;
      const count = (columns: ColumnBits) => {
        changed += 1;
        onChanged(old[found + ROW_ENTRY_INTS - 1]! - 1, row, columns);
      };
      const differs = (column: number) =>
        old[found + ROW_ENTRY_INTS + column] !== now[at + ROW_ENTRY_INTS + column];
      // If one of them has failed, its other columns are empty.
      if (differs(0)) {
        counts[0]! += 1;
        count(1);
        return;
      }
      let bits = 0;
      let isAny = false;
      for (let column = 1; column < columns.length; column++) {
        if (!differs(column)) continue;
        counts[column]! += 1;
        isAny = true;
        if (column < COLUMN_BITS) bits |= 1 << column;
      }
      if (isAny) count(bits);
    },
    result: () => {
      if (compared === 0) return undefined;
      const found = columns.flatMap((column, at) =>
        counts[at] === 0 ? [] : [[column, counts[at]!] as const],
      );
      return { compared, changed, columns: Object.fromEntries(found) };
    },
  };
}
