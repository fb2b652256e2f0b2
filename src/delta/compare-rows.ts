/**
 * Compares the rows of two outputs by their digests, bucket by bucket, so that memory holds one bucket of each and a few
 * bits for each row.
 */
import { KEY_ENTRY_INTS, ROW_ENTRY_INTS } from '../csv/kernel/digest-kernel.js';
import { BUCKETS, HashIndex, hasSameHash } from '../streams/hash-buckets.js';
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
  const index = new HashIndex();
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    const old = await base.bucket(bucket);
    const now = await output.bucket(bucket);
    const match = (found: number, at: number) => {
      if (!kept.add(numberOf(old, found))) throw doubled();
      const row = numberOf(now, at);
      const isSame = hasSameValues(old, found, now, at);
      if (isOtherTable || !isSame) changed.add(row);
      drift?.add(row, isSame, old, found, now, at);
    };
    const missed = matchInOrder(old, base.entryInts, now, output.entryInts, match);
    if (missed.length === 0) continue;
    index.begin(old, old.length / base.entryInts);
    for (let at = 0; at < old.length; at += base.entryInts) {
      if (!kept.has(numberOf(old, at)) && index.add(at) >= 0) throw doubled();
    }
    for (const at of missed) {
      const found = index.find(now, at);
      if (found >= 0) match(found, at);
      else added.add(numberOf(now, at));
    }
  }
  return { added, changed, kept };
}

/** How many entries of the base are tried before a row counts as missed: that many may be removed one after the other. */
const TRIED = 4;

/**
 * Matches rows that stand in the same order in both, which most rows of most nights do: that is cheaper than an index.
 * @returns the offsets of the entries that it has not found.
 */
function matchInOrder(
  old: Int32Array,
  oldInts: number,
  now: Int32Array,
  nowInts: number,
  match: (found: number, at: number) => void,
): readonly number[] {
  const missed: number[] = [];
  let next = 0;
  for (let at = 0; at < now.length; at += nowInts) {
    const end = Math.min(next + TRIED * oldInts, old.length);
    let found = next;
    while (found < end && !hasSameHash(old, found, now, at)) found += oldInts;
    if (found < end) {
      match(found, at);
      next = found + oldInts;
    } else missed.push(at);
  }
  return missed;
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

/** The hash of the values is between the hash of the key and the row's number. */
function hasSameValues(old: Int32Array, found: number, now: Int32Array, at: number): boolean {
  for (let i = KEY_ENTRY_INTS - 1; i < ROW_ENTRY_INTS - 1; i++) {
    if (old[found + i] !== now[at + i]) return false;
  }
  return true;
}

/** The check of the source has shown that keys are unique, so a digest that stands twice was not written so. */
function doubled(): DamagedDigestsError {
  return new DamagedDigestsError('a key stands in it twice');
}
