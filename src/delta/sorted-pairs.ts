/**
 * Sorts pairs of row numbers, each with a number that belongs to it, in a temporary file: memory holds one part of
 * them, however many there are.
 */
import { bytesOf } from '../kernel/kernel-memory.js';
import { BUCKETS, HashBuckets } from '../streams/hash-buckets.js';
import { Spill } from '../streams/spill.js';

/** Numbers of an entry: its bucket, the pair, and what belongs to it. */
const ENTRY_INTS = 4;
/** Bytes of the pairs that are kept in memory. */
const KEPT_BYTES = 1024 * 1024;

export class SortedPairs {
  readonly #rowsOfBucket: number;
  readonly #spill: Spill;
  readonly #blocks = Array.from({ length: BUCKETS }, (): Block[] => []);
  readonly #buckets: HashBuckets;
  readonly #entry = new Int32Array(ENTRY_INTS);

  /**
   * @param rows more than the largest first number of a pair.
   * @param folder takes a temporary file.
   */
  constructor(rows: number, folder: string) {
    this.#rowsOfBucket = Math.ceil(rows / BUCKETS);
    this.#spill = new Spill(folder, KEPT_BYTES);
    this.#buckets = new HashBuckets(ENTRY_INTS, (bucket, entries) => {
      this.#blocks[bucket]!.push({ position: this.#spill.append(bytesOf(entries)), ints: entries.length });
    });
  }

  add(first: number, second: number, more: number): void {
    this.#entry.set([Math.floor(first / this.#rowsOfBucket), first, second, more]);
    this.#buckets.add(this.#entry);
  }

  /** All pairs, by their first numbers. Called once; after it nothing can be added. */
  *sorted(): Generator<Pair> {
    this.#buckets.end();
    for (const blocks of this.#blocks) {
      const pairs: Pair[] = [];
      for (const { position, ints } of blocks) {
        const entries = new Int32Array(ints);
        this.#spill.read(position, bytesOf(entries));
        for (let at = 0; at < ints; at += ENTRY_INTS) {
          pairs.push([entries[at + 1]!, entries[at + 2]!, entries[at + 3]!]);
        }
      }
      yield* pairs.sort(([one], [other]) => one - other);
    }
  }

  /** Frees the temporary file. */
  close(): void {
    this.#spill.close();
  }
}

type Pair = readonly [first: number, second: number, more: number];

interface Block {
  readonly position: number;
  /** Numbers of its entries. */
  readonly ints: number;
}
