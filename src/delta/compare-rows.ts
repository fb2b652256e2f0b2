/**
 * Compares the rows of two outputs by their digests, bucket by bucket, so that memory holds one bucket of each and a few
 * bits for each row.
 */
import { setImmediate as pause } from 'node:timers/promises';
import { ROW_ENTRY_INTS } from '../csv/kernel/digest-kernel.js';
import { BUCKETS } from '../streams/hash-buckets.js';
import type { AnswerDrift } from './answer-drift.js';
import { DamagedDigestsError, type DigestReader } from './digest-file.js';
import { MATCH_INTS, RowMatcher } from './row-matcher.js';

/** A set of rows by number, from 0: one bit for each. */
export class RowSet {
  /** How many rows it holds. */
  count = 0;
  readonly #bits: Uint8Array;

  /** @param bits by the numbers from 1; the set takes the array. */
  constructor(rows: number, bits = new Uint8Array(Math.ceil((rows + 1) / 8))) {
    this.#bits = bits;
    for (const byte of bits) this.count += BITS_SET[byte]!;
  }

  has(row: number): boolean {
    return (this.#bits[(row + 1) >> 3]! & (1 << ((row + 1) & 7))) !== 0;
  }

  add(row: number): void {
    if (this.has(row)) return;
    this.#bits[(row + 1) >> 3]! |= 1 << ((row + 1) & 7);
    this.count++;
  }
}

/** How many bits of a byte are set. */
const BITS_SET = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length);

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
 * @param drift gets each row that is not in the base or has other values.
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
  const matcher = new RowMatcher(base.largest, output.largest, base.rows);
  try {
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      const old = await base.bucket(bucket, matcher.base);
      const now = await output.bucket(bucket, matcher.output);
      const matches = matcher.match(old, now, isOtherTable);
      if (matches === undefined) throw doubled();
      for (let match = 0; match < matches.length; match += MATCH_INTS) {
        const at = matches[match + 1]! * output.largest.ints;
        const row = matcher.output[at + ROW_ENTRY_INTS - 1]! - 1;
        const found = matches[match]!;
        if (found < 0) {
          added.add(row);
          drift?.addNew(row);
          continue;
        }
        changed.add(row);
        drift?.add(row, matcher.base, found * base.largest.ints, matcher.output, at);
      }
      // Signals and timers of the caller go on.
      await pause();
    }
    const kept = new RowSet(base.rows, matcher.kept());
    return { added, changed, kept };
  } finally {
    matcher.release();
  }
}

/** Rows of an output without a base: all are added. */
export function allAdded(rows: number): RowChanges {
  const added = new RowSet(rows);
  for (let row = 0; row < rows; row++) added.add(row);
  return { added, changed: new RowSet(0), kept: new RowSet(0) };
}

/** The check of the source has shown that keys are unique, so a digest that stands twice was not written so. */
function doubled(): DamagedDigestsError {
  return new DamagedDigestsError('a key stands in it twice');
}
