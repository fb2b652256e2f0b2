/**
 * Hashes records in WebAssembly: SipHash-2-4-128 of the bytes that an uploaded file holds for a record, without its
 * number, its line feed, and quotes that its fields do not need. The same values in an uploaded file and in a source of
 * any delimiter give the same hash, quoted or not.
 */
import { aligned, bytesOf, INT_BYTES, KernelMemory, SPARE_BYTES } from '../../kernel/kernel-memory.js';
import { bytesBetween, endOfFitting, type Table } from '../table.js';
import { fieldRuns } from './table-memory.js';

/** What assembly/hash.ts exports. */
interface HashExports {
  readonly hashedTo: WebAssembly.Global;
  readonly hashNeed: WebAssembly.Global;
  hashRecords(...args: number[]): void;
}

/** 32-bit numbers in a hash. */
export const HASH_INTS = 4;
/** Bytes of a key. */
export const HASH_KEY_BYTES = 16;
/** The most bytes of records that are loaded at once, unless a single record has more. */
const SLICE_BYTES = 1024 * 1024;
/** Initial room for the bytes of one record. */
const FIRST_ROOM = 64 * 1024;

/** Whether the hash of a row is all zero, because the record is blank in all chosen fields. */
export function isBlankHash(hashes: Int32Array, row: number): boolean {
  const at = row * HASH_INTS;
  return (hashes[at]! | hashes[at + 1]! | hashes[at + 2]! | hashes[at + 3]!) === 0;
}

export class HashKernel {
  readonly #memory = new KernelMemory<HashExports>();
  readonly #delimiter: number;
  readonly #runs: Int32Array<ArrayBuffer>;
  /** Addresses: the key is at 0. */
  readonly #runsAt = aligned(HASH_KEY_BYTES);
  readonly #hashesAt: number;
  readonly #sliceBytes: number;

  /**
   * @param key 16 bytes.
   * @param fields indexes of the fields to hash, in order.
   * @param delimiter of the records, a byte.
   */
  constructor(key: Uint8Array, fields: readonly number[], delimiter: number, sliceBytes = SLICE_BYTES) {
    this.#delimiter = delimiter;
    this.#sliceBytes = sliceBytes;
    this.#runs = fieldRuns(fields, delimiter);
    this.#hashesAt = aligned(this.#runsAt + this.#runs.byteLength);
    this.#memory.reserve(this.#hashesAt);
    this.#memory.bytes.set(key);
    this.#memory.bytes.set(bytesOf(this.#runs), this.#runsAt);
  }

  /**
   * Hashes all rows of a table.
   *
   * @returns four numbers for each row, valid until the next call: all zero if the row is blank in all chosen fields
   *   (assembly/blank.ts).
   * @throws ConfigError `MEMORY_LIMIT` when a row does not fit.
   */
  hash(table: Table): Int32Array {
    const { count } = table;
    for (let first = 0; first < count; ) {
      const last = Math.max(first + 1, endOfFitting(table, first, count, this.#sliceBytes));
      this.#hashSlice(table, first, last);
      first = last;
    }
    return new Int32Array(this.#memory.bytes.buffer, this.#hashesAt, count * HASH_INTS);
  }

  /** Frees the memory for others. After this call, the kernel must not be used. */
  release(): void {
    this.#memory.release();
  }

  #hashSlice(table: Table, first: number, last: number): void {
    const { bytes, count, fields, starts, ends } = table;
    const base = starts[first]!;
    const size = bytesBetween(table, first, last);
    const bytesAt = aligned(this.#hashesAt + count * HASH_INTS * INT_BYTES);
    const startsAt = aligned(bytesAt + size + SPARE_BYTES);
    const endsAt = startsAt + (last - first) * INT_BYTES;
    const scratchAt = aligned(endsAt + (last - first) * fields * INT_BYTES + SPARE_BYTES);
    this.#memory.reserve(scratchAt + FIRST_ROOM + SPARE_BYTES);
    this.#memory.bytes.set(bytes.subarray(base, base + size), bytesAt);
    this.#memory.bytes.set(bytesOf(starts.subarray(first, last)), startsAt);
    this.#memory.bytes.set(bytesOf(ends.subarray(first * fields, last * fields)), endsAt);
    const { exports } = this.#memory;
    for (let row = 0; row < last - first; row = exports.hashedTo.value) {
      exports.hashRecords(
        row,
        last - first,
        bytesAt - base,
        startsAt,
        endsAt,
        fields,
        this.#delimiter,
        this.#runsAt,
        this.#runs.length / 2,
        0,
        this.#hashesAt + first * HASH_INTS * INT_BYTES,
        scratchAt,
        this.#memory.bytes.length - SPARE_BYTES,
      );
      const need = exports.hashNeed.value;
      if (need > 0) this.#memory.reserve(scratchAt + need + 2 * SPARE_BYTES);
    }
  }
}
