/**
 * Entries that begin with a hash of 128 bits: spread over buckets by the hash, so that each bucket fits into memory, and
 * indexed within a bucket. Entries are numbers of 32 bits in arrays: no objects, whatever the number of entries.
 */

export const BUCKETS = 256;
/** Entries of a bucket that are kept before they are given on. */
const KEPT_ENTRIES = 512;

/** Entries of one bucket; the array is valid during the call only. */
export type OnBucket = (bucket: number, entries: Int32Array) => void;

export class HashBuckets {
  readonly #ints: number;
  readonly #kept: Int32Array;
  readonly #filled = new Int32Array(BUCKETS);
  readonly #onFull: OnBucket;

  /**
   * @param ints numbers of 32 bits in an entry.
   * @param onFull gets the entries of a bucket, in the order in which they were added, in several calls.
   */
  constructor(ints: number, onFull: OnBucket) {
    this.#ints = ints;
    this.#kept = new Int32Array(BUCKETS * KEPT_ENTRIES * ints);
    this.#onFull = onFull;
  }

  add(entries: Int32Array): void {
    const [ints, kept, filled] = [this.#ints, this.#kept, this.#filled];
    for (let from = 0; from < entries.length; from += ints) {
      const bucket = entries[from]! & (BUCKETS - 1);
      const count = filled[bucket]!;
      let to = (bucket * KEPT_ENTRIES + count) * ints;
      for (let i = 0; i < ints; i++) kept[to++] = entries[from + i]!;
      filled[bucket] = count + 1;
      if (count + 1 === KEPT_ENTRIES) this.#flush(bucket);
    }
  }

  /** Gives on what is left. */
  end(): void {
    for (let bucket = 0; bucket < BUCKETS; bucket++) if (this.#filled[bucket]! > 0) this.#flush(bucket);
  }

  #flush(bucket: number): void {
    const from = bucket * KEPT_ENTRIES * this.#ints;
    this.#onFull(bucket, this.#kept.subarray(from, from + this.#filled[bucket]! * this.#ints));
    this.#filled[bucket] = 0;
  }
}

/** Finds entries of one bucket by their hash. */
export class HashIndex {
  #entries: Int32Array = new Int32Array(0);
  /** Offset of an entry plus 1, or 0: open addressing. */
  #slots = new Int32Array(0);
  #mask = 0;

  /** Begins with these entries, of which none is indexed yet. The array must stay unchanged. */
  begin(entries: Int32Array, count: number): void {
    let size = 16;
    while (size < count * 2) size *= 2;
    if (this.#slots.length < size) this.#slots = new Int32Array(size);
    else this.#slots.fill(0, 0, size);
    this.#mask = size - 1;
    this.#entries = entries;
  }

  /**
   * Indexes the entry at an offset.
   * @returns the offset of an entry with the same hash that was indexed before, and stays; -1 if there is none.
   */
  add(offset: number): number {
    const slot = this.#slotOf(this.#entries, offset);
    const found = this.#slots[slot]! - 1;
    if (found < 0) this.#slots[slot] = offset + 1;
    return found;
  }

  /** The offset of the indexed entry with the hash that `other` has at `offset`; -1 if there is none. */
  find(other: Int32Array, offset: number): number {
    return this.#slots[this.#slotOf(other, offset)]! - 1;
  }

  /** The slot of the entry with this hash, or the free slot for it. */
  #slotOf(other: Int32Array, offset: number): number {
    const [slots, entries, mask] = [this.#slots, this.#entries, this.#mask];
    // The first number has chosen the bucket.
    for (let slot = other[offset + 1]! & mask; ; slot = (slot + 1) & mask) {
      const at = slots[slot]! - 1;
      if (at < 0 || hasSameHash(entries, at, other, offset)) return slot;
    }
  }
}

/** Whether two entries have the same hash. */
export function hasSameHash(one: Int32Array, at: number, other: Int32Array, offset: number): boolean {
  return (
    one[at + 1] === other[offset + 1] &&
    one[at] === other[offset] &&
    one[at + 2] === other[offset + 2] &&
    one[at + 3] === other[offset + 3]
  );
}
