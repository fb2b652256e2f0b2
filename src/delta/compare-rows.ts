/**
 * Compares the rows of two outputs by their digests, bucket by bucket, so that memory holds one bucket of each and a few
 * bits for each row.
 */
import { setImmediate as pause } from 'node:timers/promises';
import { ROW_ENTRY_INTS } from '../csv/kernel/digest-kernel.js';
import { BUCKETS, HashMatcher, MATCH_INTS } from '../streams/hash-buckets.js';
import type { AnswerDrift } from './answer-drift.js';
import { DamagedDigestsError, type DigestReader } from './digest-file.js';

/** A set of rows by number, from 0: one bit for each. */
export class RowSet {
  readonly #bits: Uint8Array;
  /** How many rows it holds. */
  count = 0;

  constructor(rows: number) {
    this.#bits = new Uint8Array(Math.ceil(rows / 8));
  }

  has(row: number): boolean {
    return (this.#bits[row >> 3]! & (1 << (row & 7))) !== 0;
  }

  /** @returns false if it holds the row already. */
  add(row: number): boolean {
    if (this.has(row)) return false;
    this.#bits[row >> 3]! |= 1 << (row & 7);
    this.count++;
    return true;
  }
}

export interface RowChanges {
  /** Rows of the new output whose key is not in the base. */
  readonly added: RowSet;
  /** Rows of the new output whose key is in the base with other values. */
  readonly changed: RowSet;
  /** Rows of the base whose key is in the new output; all others are removed. */
  readonly kept: RowSet;
}

/**
 * @param base the digests of the base, made with the same secret.
 * @param isOtherTable the two have other columns: all rows with a key in both count as changed.
 * @param drift gets each row with a key in both.
 * @throws DamagedDigestsError.
 */
export async function compareRows(
  base: DigestReader,
  output: DigestReader,
  isOtherTable: boolean,
  drift?: AnswerDrift,
): Promise<RowChanges> {
  const added = new RowSet(output.rows);
  const changed = new RowSet(output.rows);
  const kept = new RowSet(base.rows);
  const matcher = new HashMatcher();
  try {
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      const old = await base.bucket(bucket);
      const now = await output.bucket(bucket);
      const matches = matcher.match(
        { entries: old, ints: base.entryInts },
        { entries: now, ints: output.entryInts },
      );
      if (matches === undefined) throw doubled();
      for (let at = 0, match = 0; match < matches.length; match += MATCH_INTS, at += output.entryInts) {
        const row = numberOf(now, at);
        const found = matches[match]!;
        if (found < 0) {
          added.add(row);
          continue;
        }
        if (!kept.add(matches[match + 1]! - 1)) throw doubled();
        const isSame = matches[match + 2] === 1;
        if (isOtherTable || !isSame) changed.add(row);
        drift?.add(row, isSame, old, found * base.entryInts, now, at);
      }
      // Signals and timers of the caller go on.
      await pause();
    }
  } finally {
    matcher.release();
  }
  return { added, changed, kept };
}

/** Rows of an output without a base: all are added. */
export function allAdded(rows: number): RowChanges {
  const added = new RowSet(rows);
  for (let row = 0; row < rows; row++) added.add(row);
  return { added, changed: new RowSet(0), kept: new RowSet(0) };
}

/** Rows are numbered from 1 in the entries. */
function numberOf(entries: Int32Array, at: number): number {
  return entries[at + ROW_ENTRY_INTS - 1]! - 1;
}

/** The check of the source has shown that keys are unique, so a digest that stands twice was not written so. */
function doubled(): DamagedDigestsError {
  return new DamagedDigestsError('a key stands in it twice');
}
