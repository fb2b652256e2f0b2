/**
 * Matches the digests of the rows of two outputs within a bucket, in WebAssembly (assembly/buckets.ts). Invariant: all of
 * its memory is reserved at once, so that its views stay valid.
 */
import { bytesOf, INT_BYTES, KernelMemory, MemoryLayout, slotsFor } from '../kernel/kernel-memory.js';

/** What assembly/buckets.ts exports. */
interface MatchExports {
  indexEntries(...args: number[]): number;
  matchInOrder(...args: number[]): number;
  matchIndexed(...args: number[]): void;
  differing(...args: number[]): number;
}

/** The largest bucket of an output. */
export interface BucketSize {
  /** Entries. */
  readonly rows: number;
  /**
   * Numbers of 32 bits of an entry, at least nine: the hashes of the key and of all values, and the number of the row.
   */
  readonly ints: number;
}

/**
 * Numbers of a match: the index of the entry of the base or -1, that of the other entry, and whether the rows are the
 * same.
 */
export const MATCH_INTS = 3;

export class RowMatcher {
  /** Arrays into which the caller reads the entries of a bucket: of the base, and of the output. */
  readonly base: Int32Array;
  readonly output: Int32Array;
  readonly #memory = new KernelMemory<MatchExports>();
  readonly #baseBytes: number;
  readonly #outputBytes: number;
  readonly #baseAt: number;
  readonly #outputAt: number;
  readonly #matchesAt: number;
  readonly #slotsAt: number;
  readonly #firstsAt: number;
  readonly #keptAt: number;
  readonly #keptInts: number;

  /** @param baseRows all rows of the base. */
  constructor(base: BucketSize, output: BucketSize, baseRows: number) {
    this.#baseBytes = base.ints * INT_BYTES;
    this.#outputBytes = output.ints * INT_BYTES;
    this.#keptInts = Math.ceil((baseRows + 1) / 32);
    const layout = new MemoryLayout();
    this.#baseAt = layout.placeInts(base.rows * base.ints);
    this.#outputAt = layout.placeInts(output.rows * output.ints);
    this.#matchesAt = layout.placeInts(output.rows * MATCH_INTS);
    this.#slotsAt = layout.placeInts(slotsFor(base.rows));
    this.#firstsAt = layout.placeInts(base.rows);
    this.#keptAt = layout.placeInts(this.#keptInts);
    this.#memory.reserve(layout.end);
    this.base = this.#view(this.#baseAt, base.rows * base.ints);
    this.output = this.#view(this.#outputAt, output.rows * output.ints);
    this.#view(this.#keptAt, this.#keptInts).fill(0);
  }

  /**
   * Matches the entries that the caller has read. Those that are in the same order in both are matched without a table.
   * @param keepsSame whether rows with the same values are returned too.
   * @returns the matches of rows that are not in the base or have other values; valid until the next call. Undefined if
   *   two entries with the same key were noticed.
   */
  match(baseRows: number, outputRows: number, keepsSame: boolean): Int32Array | undefined {
    const { exports } = this.#memory;
    const base = [this.#baseAt, baseRows, this.#baseBytes] as const;
    const output = [this.#outputAt, outputRows, this.#outputBytes] as const;
    const missed = exports.matchInOrder(...base, ...output, this.#matchesAt);
    if (missed > 0) {
      const slots = slotsFor(baseRows);
      const table = [this.#slotsAt, slots - 1] as const;
      this.#view(this.#slotsAt, slots).fill(0);
      if (exports.indexEntries(...base, ...table, this.#firstsAt) > 0) return undefined;
      exports.matchIndexed(this.#baseAt, this.#baseBytes, ...table, ...output, this.#matchesAt);
    }
    const found = exports.differing(this.#matchesAt, outputRows, this.#keptAt, keepsSame ? 1 : 0);
    return found < 0 ? undefined : this.#view(this.#matchesAt, found * MATCH_INTS);
  }

  /** A bit for each row of the base that was matched, by its number from 1. */
  kept(): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(bytesOf(this.#view(this.#keptAt, this.#keptInts)));
  }

  /** Frees the memory. After this call neither it nor a view of it may be used. */
  release(): void {
    this.#memory.release();
  }

  #view(address: number, size: number): Int32Array {
    return new Int32Array(this.#memory.bytes.buffer, address, size);
  }
}
