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
import { RowSet } from './row-set.js';

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
 * @param isOtherTable whether their columns differ: then all rows with a key in both count as changed.
 * @param drift receives each row that is not in the base or has other values.
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
      // Lets signals and timers of the caller run.
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

/** The check of the source has shown that keys are unique, so a digest that occurs twice was not written so. */
function doubled(): DamagedDigestsError {
  return new DamagedDigestsError('a key occurs in them twice');
}
