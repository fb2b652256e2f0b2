/**
 * The records of one bucket in a hash table, in WebAssembly: equal ones are chained, entries of segments are matched with
 * them, and the answers go to lanes (assembly/join.ts). Invariant: all of its memory is reserved at once, so that its
 * views stay valid.
 */
import { HASH_INTS } from '../csv/kernel/hash-kernel.js';
import { INT_BYTES, KernelMemory, MemoryLayout, slotsFor } from '../kernel/kernel-memory.js';
import type { IntBuffers } from './append-file.js';
import type { LaneRoom, LaneShape } from './lanes.js';

/** Numbers of an asked record: its hash and its number. */
export const ASKED_INTS = HASH_INTS + 1;
/** Numbers of a match. */
const MATCH_INTS = 2;
/** The mark of a record for which an answer is taken. */
const REUSED = 2;
/** Why the kernel has stopped. */
const DONE = 0;
const UNKNOWN_ORIGIN = 1;
/** The index of an origin that has none yet. */
const UNKNOWN = -1;

/** What assembly/join.ts exports, and `indexEntries` of assembly/buckets.ts. */
interface JoinExports {
  readonly successful: WebAssembly.Global;
  readonly failed: WebAssembly.Global;
  readonly outdated: WebAssembly.Global;
  readonly reusedFirsts: WebAssembly.Global;
  readonly firstMatches: WebAssembly.Global;
  readonly stopNumber: WebAssembly.Global;
  readonly stopOrigin: WebAssembly.Global;
  readonly stopPaid: WebAssembly.Global;
  readonly stopMeta: WebAssembly.Global;
  readonly stopValue: WebAssembly.Global;
  readonly stopTaken: WebAssembly.Global;
  indexEntries(...args: number[]): number;
  chainEqual(...args: number[]): void;
  matchBlock(...args: number[]): number;
  beginBlock(entries: number, count: number): void;
  takeAnswers(...args: number[]): number;
}

/** The largest numbers that occur at once. */
export interface JoinSizes {
  /** Records of a bucket. */
  readonly records: number;
  /** Entries of a block, and their numbers. */
  readonly entries: number;
  readonly ints: number;
  /** Origins of all segments. */
  readonly origins: number;
  /** Lanes of each list of answers; undefined: no answer is written. */
  readonly lanes: LaneShape | undefined;
}

/** Which answers of a segment are taken. */
export interface JoinLimits {
  /** How old the answers of each origin are; infinite for those of another epoch. */
  readonly ages: Float64Array;
  /** Index of each origin in the choice; -1: none yet. */
  readonly indexes: Int32Array;
  readonly maxAge: number;
  readonly failedAge: number;
}

/** An answer at which the kernel has stopped. */
export interface StoppedAnswer {
  readonly isTaken: boolean;
  readonly number: number;
  /** Of its origin in the choice. */
  readonly index: number;
  /** Number of the record that has paid for it. */
  readonly paid: number;
  readonly meta: number;
  /** Holds the value at index `from`. */
  readonly values: Int32Array;
  readonly from: number;
}

export class BucketJoin {
  /** Buffers into which the caller reads the asked records, the hashes of a block and its entries. */
  readonly asked: IntBuffers;
  readonly hashes: IntBuffers;
  readonly entries: IntBuffers;
  /** The buffers of the lists of answers: those that are taken, and others. */
  readonly lists: readonly [LaneRoom, LaneRoom] | undefined;
  count = 0;
  /** Index of the first record with the same hash, for each record. */
  readonly firsts: Int32Array;
  readonly #memory = new KernelMemory<JoinExports>();
  readonly #ints: Int32Array;
  readonly #lanes: LaneShape | undefined;
  readonly #marks: Uint8Array;
  /** Addresses. */
  readonly #askedAt: number;
  readonly #slotsAt: number;
  readonly #firstsAt: number;
  readonly #nextsAt: number;
  readonly #lastsAt: number;
  readonly #marksAt: number;
  readonly #passedAt: number;
  readonly #hashesAt: number;
  readonly #matchesAt: number;
  readonly #entriesAt: number;
  readonly #limitsAt: number;
  readonly #listsAt: readonly number[];
  /** The address after the origins so far. */
  #originsTo: number;
  /** Distinct hashes that no entry has matched. */
  #unmatched = 0;
  /** Distinct hashes for which no answer is taken so far. */
  #open = 0;
  #mask = 0;
  #hasDoubles = false;

  constructor({ records, entries, ints, origins, lanes }: JoinSizes) {
    const layout = new MemoryLayout();
    this.#askedAt = layout.placeInts(records * ASKED_INTS);
    this.#slotsAt = layout.placeInts(slotsFor(records));
    this.#firstsAt = layout.placeInts(records);
    this.#nextsAt = layout.placeInts(records);
    this.#lastsAt = layout.placeInts(records);
    this.#marksAt = layout.placeBytes(records);
    this.#hashesAt = layout.placeInts(entries * HASH_INTS);
    this.#matchesAt = layout.placeInts(entries * MATCH_INTS);
    this.#entriesAt = layout.placeInts(ints);
    this.#limitsAt = layout.placeBytes(2 * Float64Array.BYTES_PER_ELEMENT);
    this.#passedAt = layout.placeBytes(records * Float64Array.BYTES_PER_ELEMENT);
    this.#originsTo = layout.placeBytes(origins * (Float64Array.BYTES_PER_ELEMENT + INT_BYTES));
    const ofLists = lanes && [layout.placeInts(lanes.lanes), layout.placeInts(lanes.lanes)];
    const buffers = lanes && ofLists?.map(() => layout.placeInts(lanes.lanes * lanes.laneInts));
    this.#listsAt = ofLists === undefined ? [0, 0, 0, 0] : [...buffers!, ...ofLists];
    this.#lanes = lanes;
    this.#memory.reserve(layout.end);
    const { buffer } = this.#memory.bytes;
    this.#ints = new Int32Array(buffer);
    this.#marks = new Uint8Array(buffer, this.#marksAt, records);
    this.firsts = new Int32Array(buffer, this.#firstsAt, records);
    const room = (at: number): IntBuffers => ({ ints: (size) => this.#view(at, size) });
    this.asked = room(this.#askedAt);
    this.hashes = room(this.#hashesAt);
    this.entries = room(this.#entriesAt);
    const list = (at: number): LaneRoom => ({
      buffers: this.#view(buffers![at]!, lanes!.lanes * lanes!.laneInts),
      filled: this.#view(ofLists![at]!, lanes!.lanes).fill(0),
    });
    this.lists = lanes && [list(0), list(1)];
  }

  /** Takes the records of a bucket, which the caller has read into `asked`. Equal records are chained in their order. */
  load(count: number): void {
    const slots = slotsFor(count);
    this.count = count;
    this.#mask = slots - 1;
    this.#view(this.#slotsAt, slots).fill(0);
    this.#marks.fill(0, 0, count);
    const { exports } = this.#memory;
    const bytes = ASKED_INTS * INT_BYTES;
    const doubles = exports.indexEntries(
      this.#askedAt,
      count,
      bytes,
      this.#slotsAt,
      this.#mask,
      this.#firstsAt,
    );
    this.#unmatched = count - doubles;
    this.#open = this.#unmatched;
    this.#hasDoubles = doubles > 0;
    if (doubles > 0) exports.chainEqual(this.#firstsAt, count, this.#nextsAt, this.#lastsAt);
  }

  /** The number of a record. */
  numberOf(record: number): number {
    return this.#ints[this.#askedAt / INT_BYTES + record * ASKED_INTS + HASH_INTS]!;
  }

  /** Whether an answer was taken for a record that is the first one with its hash. */
  isReused(record: number): boolean {
    return this.#marks[record] === REUSED;
  }

  /**
   * Whether a segment may still decide for a record of the bucket.
   * @param mayTake whether any answer of the segment may be taken.
   */
  isWanted(mayTake: boolean): boolean {
    return (mayTake ? this.#open : this.#unmatched) > 0;
  }

  /**
   * Finds the records for the hashes of a block, which the caller has read into `hashes`. A hash that was matched
   * before is matched again only if no answer is taken for it yet and one may be taken now.
   * @returns how many matches there are.
   */
  match(count: number, mayTake: boolean): number {
    const { exports } = this.#memory;
    const asked = [this.#askedAt, this.#slotsAt, this.#mask, this.#marksAt, mayTake ? 1 : 0] as const;
    const found = exports.matchBlock(...asked, this.#hashesAt, count, this.#matchesAt);
    this.#unmatched -= exports.firstMatches.value;
    return found;
  }

  /** Room for the origins of a segment. Called once for each. */
  origins(count: number): Pick<JoinLimits, 'ages' | 'indexes'> {
    const { buffer } = this.#memory.bytes;
    const ages = new Float64Array(buffer, this.#originsTo, count);
    const indexes = new Int32Array(buffer, this.#originsTo + ages.byteLength, count).fill(UNKNOWN);
    const end = this.#originsTo + ages.byteLength + indexes.byteLength;
    this.#originsTo = Math.ceil(end / Float64Array.BYTES_PER_ELEMENT) * Float64Array.BYTES_PER_ELEMENT;
    return { ages, indexes };
  }

  /**
   * Takes answers for the last matches, of the block that the caller has read into `entries`.
   * @param sendsDoubles whether equal records are all sent if there is no answer to take.
   * @param indexOf returns the index of an origin in the choice.
   * @param write writes an answer whose lane has no room for it.
   * @returns for how many records a successful or a failed answer was taken, and how many more records have only an
   *   answer that is not taken: fewer than 0 if some of those got one.
   */
  take(
    matches: number,
    count: number,
    { ages, indexes, maxAge, failedAge }: JoinLimits,
    sendsDoubles: boolean,
    indexOf: (origin: number) => number,
    write: (answer: StoppedAnswer) => void,
  ): { readonly successful: number; readonly failed: number; readonly outdated: number } {
    const { exports } = this.#memory;
    new Float64Array(ages.buffer, this.#limitsAt, 2).set([maxAge, failedAge]);
    const { laneBits = 0, laneInts = 0 } = this.#lanes ?? {};
    const [reused = 0, others = 0, reusedFilled = 0, othersFilled = 0] = this.#listsAt;
    exports.beginBlock(this.#entriesAt, count);
    for (;;) {
      // Not spread from an array, because creating the array costs more.
      const stop = exports.takeAnswers(
        this.#matchesAt,
        matches,
        this.#entriesAt,
        count,
        this.#askedAt,
        this.#marksAt,
        this.#passedAt,
        this.#hasDoubles ? this.#nextsAt : 0,
        sendsDoubles ? 1 : 0,
        ages.byteOffset,
        indexes.byteOffset,
        this.#limitsAt,
        laneBits,
        laneInts,
        reused,
        reusedFilled,
        others,
        othersFilled,
      );
      if (stop === DONE) break;
      const origin: number = exports.stopOrigin.value;
      if (stop === UNKNOWN_ORIGIN) {
        indexes[origin] = indexOf(origin);
        continue;
      }
      write({
        isTaken: exports.stopTaken.value !== 0,
        number: exports.stopNumber.value,
        index: indexes[origin]!,
        paid: exports.stopPaid.value,
        meta: exports.stopMeta.value,
        values: this.#ints,
        from: exports.stopValue.value / INT_BYTES,
      });
    }
    const { successful, failed, outdated, reusedFirsts } = exports;
    this.#open -= reusedFirsts.value;
    return { successful: successful.value, failed: failed.value, outdated: outdated.value };
  }

  /** Frees the memory. After this call neither it nor a view of it may be used. */
  release(): void {
    this.#memory.release();
  }

  #view(address: number, size: number): Int32Array<ArrayBuffer> {
    return new Int32Array(this.#memory.bytes.buffer as ArrayBuffer, address, size);
  }
}
