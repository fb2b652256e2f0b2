/** The records of one bucket in a hash table: equal ones are chained, and entries of segments are matched with them. */
import { HASH_INTS } from '../csv/kernel/hash-kernel.js';
import { Scratch } from './append-file.js';

/** Numbers of an asked record: its hash and its number. */
export const ASKED_INTS = HASH_INTS + 1;

export class BucketJoin {
  /** The asked records, `ASKED_INTS` numbers for each. */
  asked = new Int32Array(0);
  count = 0;
  /** Distinct hashes that no entry has matched. */
  unmatched = 0;
  /** Index of the first record with the same hash, for each record. */
  firsts = new Int32Array(0);
  /** Index of the next record with the same hash, for each record; -1 behind the last. */
  nexts = new Int32Array(0);
  /** For the first of equal records: whether an entry has matched. */
  matched = new Uint8Array(0);
  /** Matches of the last call: indexes of the entries, ascending, and of the first records. */
  readonly #entries = new Scratch();
  readonly #heads = new Scratch();
  entries = this.#entries.ints(0);
  heads = this.#heads.ints(0);
  #lasts = new Int32Array(0);
  /** Index of a record plus one; 0: free. */
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
  }

  /**
   * Finds the records for the hashes of entries. A hash that was matched before is not matched again.
   * @returns how many matches `entries` and `heads` hold.
   */
  match(hashes: Int32Array, count: number): number {
    this.entries = this.#entries.ints(count);
    this.heads = this.#heads.ints(count);
    const { asked, matched, entries, heads } = this;
    const slots = this.#slots;
    const mask = this.#mask;
    let found = 0;
    for (let entry = 0; entry < count; entry++) {
      const at = entry * HASH_INTS;
      for (let slot = hashes[at + 1]! & mask; ; slot = (slot + 1) & mask) {
        const record = slots[slot]! - 1;
        if (record < 0) break;
        if (!isSame(asked, record * ASKED_INTS, hashes, at)) continue;
        if (matched[record] === 0) {
          matched[record] = 1;
          entries[found] = entry;
          heads[found] = record;
          found += 1;
        }
        break;
      }
    }
    this.unmatched -= found;
    return found;
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
      this.matched = new Uint8Array(size);
    } else this.matched.fill(0, 0, count);
  }
}

function isSame(a: Int32Array, aAt: number, b: Int32Array, bAt: number): boolean {
  return (
    a[aAt + 1] === b[bAt + 1] && a[aAt] === b[bAt] && a[aAt + 2] === b[bAt + 2] && a[aAt + 3] === b[bAt + 3]
  );
}
