/**
 * Sorts pairs of row numbers, each with a number that belongs to it, in a temporary file: memory holds one part of
 * them, however many there are.
 */
import { BUCKETS } from '../streams/hash-buckets.js';
import { SpilledBuckets } from '../streams/spilled-buckets.js';

/** Numbers of an entry: its bucket, the pair, and what belongs to it. */
const ENTRY_INTS = 4;
/** Bytes of the pairs that are kept in memory. */
const KEPT_BYTES = 1024 * 1024;

export class SortedPairs {
  readonly #rowsOfBucket: number;
  readonly #buckets: SpilledBuckets;
  readonly #entry = new Int32Array(ENTRY_INTS);

  /**
   * @param rows more than the largest first number of a pair.
   * @param folder takes a temporary file.
   */
  constructor(rows: number, folder: string) {
    this.#rowsOfBucket = Math.ceil(rows / BUCKETS);
    this.#buckets = new SpilledBuckets(ENTRY_INTS, folder, KEPT_BYTES);
  }

  add(first: number, second: number, more: number): void {
    this.#entry.set([Math.floor(first / this.#rowsOfBucket), first, second, more]);
    this.#buckets.add(this.#entry);
  }

  /** All pairs, by their first numbers. Called once; after it nothing can be added. */
  *sorted(): Generator<Pair> {
    this.#buckets.end();
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      const entries = this.#buckets.bucket(bucket);
      const pairs: Pair[] = [];
      for (let at = 0; at < entries.length; at += ENTRY_INTS) {
        pairs.push([entries[at + 1]!, entries[at + 2]!, entries[at + 3]!]);
      }
      yield* pairs.sort(([one], [other]) => one - other);
    }
  }

  /** Frees the temporary file. */
  close(): void {
    this.#buckets.close();
  }
}

type Pair = readonly [first: number, second: number, more: number];
