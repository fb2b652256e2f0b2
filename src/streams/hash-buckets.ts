/**
 * Entries that begin with a hash of 128 bits: spread over buckets by the hash, so that each bucket fits into memory, and
 * compared within a bucket, in WebAssembly. Entries are numbers of 32 bits in arrays: no objects, whatever their number.
 */
import {
  aligned,
  bytesOf,
  INT_BYTES,
  KernelMemory,
  MemoryLayout,
  SPARE_BYTES,
  slotsFor,
} from '../kernel/kernel-memory.js';

/** What assembly/buckets.ts exports. */
interface BucketsExports {
  readonly spreadTo: WebAssembly.Global;
  readonly fullBucket: WebAssembly.Global;
  spread(...args: number[]): void;
  spreadHashes(...args: number[]): void;
  indexEntries(...args: number[]): number;
}

/** Number of buckets: hashes are sorted into them by their first byte. Stored files depend on it. */
export const BUCKETS = 256;
/** Bytes of a hash. */
const HASH_BYTES = 16;
/** The number of entries that a bucket keeps before they are passed on. */
const KEPT_ENTRIES = 512;

/** The bucket of a hash. @param first the first of its numbers. */
export function bucketOf(first: number): number {
  return first & (BUCKETS - 1);
}

/** Entries of one bucket; the array is valid during the call only. */
type OnBucket = (bucket: number, entries: Int32Array) => void;

export class HashBuckets {
  readonly #memory = new KernelMemory<BucketsExports>();
  /** Bytes of an entry. */
  readonly #size: number;
  readonly #onFull: OnBucket;
  /** Addresses. The number of entries in each bucket is at 0. */
  readonly #bucketsAt = BUCKETS * INT_BYTES;
  readonly #entriesAt: number;

  /**
   * @param ints numbers of 32 bits in an entry, at least four.
   * @param onFull gets the entries of a bucket, in the order in which they were added, in several calls.
   */
  constructor(ints: number, onFull: OnBucket) {
    this.#size = ints * INT_BYTES;
    this.#onFull = onFull;
    this.#entriesAt = aligned(this.#bucketsAt + BUCKETS * KEPT_ENTRIES * this.#size);
    this.#memory.reserve(this.#entriesAt);
    this.#memory.bytes.fill(0, 0, this.#bucketsAt);
  }

  add(entries: Int32Array): void {
    const count = entries.byteLength / this.#size;
    this.#memory.reserve(this.#entriesAt + entries.byteLength + SPARE_BYTES);
    this.#memory.bytes.set(bytesOf(entries), this.#entriesAt);
    const { exports } = this.#memory;
    this.#spreadAll(count, (first) =>
      exports.spread(this.#entriesAt, first, count, this.#size, this.#bucketsAt, 0, KEPT_ENTRIES),
    );
  }

  /**
   * Adds entries of five numbers: a hash, and a number. A hash of zero is left out.
   * @param hashes four numbers for each.
   */
  addHashes(hashes: Int32Array, numbers: Int32Array): void {
    const count = numbers.length;
    const numbersAt = this.#entriesAt + count * HASH_BYTES;
    this.#memory.reserve(numbersAt + numbers.byteLength + SPARE_BYTES);
    this.#memory.bytes.set(bytesOf(hashes), this.#entriesAt);
    this.#memory.bytes.set(bytesOf(numbers), numbersAt);
    const { exports } = this.#memory;
    this.#spreadAll(count, (first) =>
      exports.spreadHashes(this.#entriesAt, numbersAt, first, count, this.#bucketsAt, 0, KEPT_ENTRIES),
    );
  }

  /** Passes the remaining entries on, and frees the memory. After this call it must not be used. */
  end(): void {
    for (let bucket = 0; bucket < BUCKETS; bucket++) this.#flush(bucket);
    this.#memory.release();
  }

  /** @param spread spreads entries, from the one at `first` on, until a bucket is full. */
  #spreadAll(count: number, spread: (first: number) => void): void {
    const { spreadTo, fullBucket } = this.#memory.exports;
    for (let first = 0; first < count; first = spreadTo.value) {
      spread(first);
      if (fullBucket.value >= 0) this.#flush(fullBucket.value);
    }
  }

  #flush(bucket: number): void {
    const { buffer } = this.#memory.bytes;
    const [filled] = new Int32Array(buffer, bucket * INT_BYTES, 1);
    if (filled === 0) return;
    const from = this.#bucketsAt + bucket * KEPT_ENTRIES * this.#size;
    this.#onFull(bucket, new Int32Array(buffer, from, (filled! * this.#size) / INT_BYTES));
    new Int32Array(buffer, bucket * INT_BYTES, 1)[0] = 0;
  }
}

/** Finds entries with the same hash. What it gives is valid until the next call. */
export class HashMatcher {
  readonly #memory = new KernelMemory<BucketsExports>();

  /**
   * For each entry the index of the first one with its hash; undefined if no two entries have the same hash.
   * @param ints numbers of 32 bits in an entry.
   */
  doubled(entries: Int32Array, ints: number): Int32Array | undefined {
    const count = entries.length / ints;
    const slots = slotsFor(count);
    const layout = new MemoryLayout();
    const slotsAt = layout.placeInts(slots);
    const entriesAt = layout.placeInts(entries.length);
    const foundAt = layout.placeInts(count);
    this.#memory.reserve(layout.end);
    const { bytes, exports } = this.#memory;
    bytes.fill(0, slotsAt, entriesAt);
    bytes.set(bytesOf(entries), entriesAt);
    const size = ints * INT_BYTES;
    const doubled = exports.indexEntries(entriesAt, count, size, slotsAt, slots - 1, foundAt);
    return doubled === 0 ? undefined : new Int32Array(bytes.buffer, foundAt, count);
  }

  /** Frees the memory for others. After this call it must not be used. */
  release(): void {
    this.#memory.release();
  }
}
