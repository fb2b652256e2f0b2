/** The records of one bucket in a hash table: equal ones are chained, and entries of segments are matched with them. */
import { HASH_INTS } from '../csv/kernel/hash-kernel.js';

/** Numbers of an asked record: its hash and its number. */
export const ASKED_INTS = HASH_INTS + 1;
/** The number of a hash that says how much its age is shortened. It does not choose the place in a table. */
const SPREAD_INT = 2;

export class BucketJoin {
  /** The asked records, `ASKED_INTS` numbers for each. */
  asked = new Int32Array(0);
  count = 0;
  /** Distinct hashes that no entry has matched. */
  unmatched = 0;
  /** Whether two records have the same hash. */
  hasDoubles = false;
  /** Index of the first record with the same hash, for each record. */
  firsts = new Int32Array(0);
  /** Index of the next record with the same hash, for each record; -1 behind the last. */
  nexts = new Int32Array(0);
  /**
   * Matches of the last call: indexes of the entries, ascending, and of the first records; and of these the numbers and a
   * part of the hashes, because they lie in no order, and each look at them may have to wait for the memory.
   */
  entries = new Int32Array(0);
  heads = new Int32Array(0);
  numbers = new Int32Array(0);
  spreads = new Int32Array(0);
  #lasts = new Int32Array(0);
  /** Index of a record plus one, negative once an entry has matched it; 0: free. */
  #slots = new Int32Array(0);
  #mask = 0;

  /** Takes the records of a bucket. Equal records are chained in their order. */
  load(asked: Int32Array<ArrayBuffer>): void {
    const count = asked.length / ASKED_INTS;
    this.asked = asked;
    this.count = count;
    this.#reserve(count);
    const { firsts, nexts } = this;
    const slots = this.#slots;
    const lasts = this.#lasts;
    const mask = this.#mask;
    let distinct = 0;
    for (let record = 0; record < count; record++) {
      const at = record * ASKED_INTS;
      nexts[record] = -1;
      for (let slot = asked[at + 1]! & mask; ; slot = (slot + 1) & mask) {
        const found = slots[slot]! - 1;
        if (found < 0) {
          slots[slot] = record + 1;
          firsts[record] = record;
          lasts[record] = record;
          distinct += 1;
          break;
        }
        if (!isSame(asked, found * ASKED_INTS, asked, at)) continue;
        firsts[record] = found;
        nexts[lasts[found]!] = record;
        lasts[found] = record;
        break;
      }
    }
    this.unmatched = distinct;
    this.hasDoubles = distinct < count;
  }

  /**
   * Finds the records for the hashes of entries. A hash that was matched before is not matched again.
   * @returns how many matches `entries` and `heads` hold.
   */
  match(hashes: Int32Array, count: number): number {
    this.#reserveMatches(count);
    const { asked, entries, heads, numbers, spreads } = this;
    const slots = this.#slots;
    const mask = this.#mask;
    let found = 0;
    for (let entry = 0; entry < count; entry++) {
      const at = entry * HASH_INTS;
      for (let slot = hashes[at + 1]! & mask; ; slot = (slot + 1) & mask) {
        const known = slots[slot]!;
        if (known === 0) break;
        const record = Math.abs(known) - 1;
        const place = record * ASKED_INTS;
        if (!isSame(asked, place, hashes, at)) continue;
        if (known > 0) {
          slots[slot] = -known;
          entries[found] = entry;
          heads[found] = record;
          numbers[found] = asked[place + HASH_INTS]!;
          spreads[found] = asked[place + SPREAD_INT]!;
          found += 1;
        }
        break;
      }
    }
    this.unmatched -= found;
    return found;
  }

  #reserveMatches(count: number): void {
    if (this.entries.length >= count) return;
    const size = Math.ceil(count * 1.25);
    this.entries = new Int32Array(size);
    this.heads = new Int32Array(size);
    this.numbers = new Int32Array(size);
    this.spreads = new Int32Array(size);
  }

  #reserve(count: number): void {
    const slots = 2 ** Math.ceil(Math.log2(Math.max(16, count * 2)));
    if (this.#slots.length < slots) this.#slots = new Int32Array(slots);
    else this.#slots.fill(0, 0, slots);
    this.#mask = slots - 1;
    if (this.firsts.length < count) {
      const size = Math.ceil(count * 1.25);
      this.firsts = new Int32Array(size);
      this.nexts = new Int32Array(size);
      this.#lasts = new Int32Array(size);
    }
  }
}

function isSame(a: Int32Array, aAt: number, b: Int32Array, bAt: number): boolean {
  return (
    a[aAt + 1] === b[bAt + 1] && a[aAt] === b[bAt] && a[aAt + 2] === b[bAt + 2] && a[aAt + 3] === b[bAt + 3]
  );
}
