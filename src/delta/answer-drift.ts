/**
 * Drift by key: counts the records that were sent again and have another answer than in the base, also if other values
 * were sent. Compares short hashes of the answers, which the row digests hold; the answers themselves are not read.
 */
import { DigestKernel, ROW_ENTRY_INTS } from '../csv/kernel/digest-kernel.js';
import type { Drift, PredictionStatus } from '../types.js';
import type { RowSet } from './row-set.js';

export interface DriftOptions {
  /** Names of the columns that hold answers, in the order of their hashes; the first one is that of the status. */
  readonly columns: readonly string[];
  /** The rows whose records were sent; undefined: all of them. */
  readonly sent: RowSet | undefined;
}

/** A bit for each of the first 32 columns, set where the answers differ. */
export type ColumnBits = number;
export const COLUMN_BITS = 32;

export interface AnswerDrift {
  /** Adds a row of the output whose key is not in the base. */
  addNew(row: number): void;
  /**
   * Adds a row of the output with the row of the base that has its key and other values: their entries, and where they
   * begin.
   */
  add(row: number, old: Int32Array, found: number, now: Int32Array, at: number): void;
  /** Called when all such rows were added. @returns undefined if nothing was compared. */
  result(): Drift | undefined;
}

/** The status of a row without an answer. */
const NONE: PredictionStatus = 'UNPROCESSED';

/**
 * A record that had no answer, or has none now, has not drifted: it does not count as compared.
 * @param secret of the hashes.
 * @param rows of the output.
 * @param onChanged called for each row with another answer, with its numbers in the base and in the output, and the
 *   columns that differ.
 */
export function createAnswerDrift(
  { columns, sent }: DriftOptions,
  secret: Uint8Array,
  rows: number,
  onChanged: (base: number, row: number, columns: ColumnBits) => void,
): AnswerDrift {
  const counts = new Float64Array(columns.length);
  const none = statusHash(secret, NONE);
  const isSent = (row: number) => sent === undefined || sent.has(row);
  /** Rows that were sent, without those that are not in the base or have no answer to compare. */
  let compared = sent?.count ?? rows;
  let changed = 0;
  return {
    addNew: (row) => {
      if (isSent(row)) compared -= 1;
    },
    add: (row, old, found, now, at) => {
      if (!isSent(row)) return;
      if (old[found + ROW_ENTRY_INTS] === none || now[at + ROW_ENTRY_INTS] === none) {
        compared -= 1;
        return;
      }
      const count = (columns: ColumnBits) => {
        changed += 1;
        onChanged(old[found + ROW_ENTRY_INTS - 1]! - 1, row, columns);
      };
      const differs = (column: number) =>
        old[found + ROW_ENTRY_INTS + column] !== now[at + ROW_ENTRY_INTS + column];
      // Only one of the two has failed, and its other columns are empty.
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

/** The short hash of a status, as the entries of rows have it. */
function statusHash(secret: Uint8Array, status: PredictionStatus): number {
  const bytes = Buffer.from(status);
  const kernel = new DigestKernel(secret, [0], [0]);
  try {
    const row = { starts: Int32Array.of(0), ends: Int32Array.of(bytes.length), numbers: Int32Array.of(1) };
    return kernel.rows({ bytes, ...row, count: 1, fields: 1, file: 0, base: 0 }).entries[ROW_ENTRY_INTS]!;
  } finally {
    kernel.release();
  }
}
