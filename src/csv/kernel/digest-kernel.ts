/** Hashes the keys and the rows of batches by their values (SipHash-2-4-128), in WebAssembly. */
import { aligned, bytesOf, INT_BYTES, KernelMemory, SPARE_BYTES } from '../../kernel/kernel-memory.js';
import { type Batch, bytesBetween } from '../table.js';

/** Bytes of the secret, and of a hash. */
export const HASH_BYTES = 16;
/** 32-bit numbers in the entry of a key: its hash, and the number of its record. */
export const KEY_ENTRY_INTS = 5;
/**
 * 32-bit numbers in the entry of a row: the hash of its key, the hash of all its values, and its number. A number for each
 * answer follows.
 */
export const ROW_ENTRY_INTS = 9;

/** What assembly/digest.ts exports. */
interface DigestExports {
  readonly blankRow: WebAssembly.Global;
  readonly blankField: WebAssembly.Global;
  digestKeys(...addresses: number[]): void;
  digestRows(...addresses: number[]): number;
}

interface KeyDigests {
  /** An entry for each record. */
  readonly entries: Int32Array;
  /** The first record with a blank key column, and which column of the key it is; else undefined. */
  readonly blank: { readonly row: number; readonly field: number } | undefined;
}

export interface RowDigests {
  /** An entry for each row. */
  readonly entries: Int32Array;
  /** For each row and each column of the key, its length in four bytes, and then the raw field. */
  readonly texts: Uint8Array;
}

/** All views that it gives are valid until the next call. */
export class DigestKernel {
  readonly #memory = new KernelMemory<DigestExports>();
  readonly #keyFields: Int32Array<ArrayBuffer>;
  readonly #answerFields: Int32Array<ArrayBuffer>;
  /** The secret is at address 0, and the indexes of the key's fields are after it. Then come those of the answers. */
  readonly #answersAt: number;
  readonly #batchAt: number;

  /**
   * @param secret `HASH_BYTES` random bytes. Only hashes with the same secret can be compared.
   * @param keyFields indexes of the fields that make up the key.
   * @param answerFields indexes of the fields that can be compared one by one.
   */
  constructor(secret: Uint8Array, keyFields: readonly number[], answerFields: readonly number[] = []) {
    this.#keyFields = Int32Array.from(keyFields);
    this.#answerFields = Int32Array.from(answerFields);
    this.#answersAt = aligned(SPARE_BYTES + this.#keyFields.byteLength);
    this.#batchAt = aligned(this.#answersAt + this.#answerFields.byteLength + SPARE_BYTES);
    this.#memory.reserve(this.#batchAt);
    this.#memory.bytes.set(secret);
    this.#memory.bytes.set(bytesOf(this.#keyFields), SPARE_BYTES);
    this.#memory.bytes.set(bytesOf(this.#answerFields), this.#answersAt);
  }

  /** Hashes the keys of records. Stops at a record with a blank key column. */
  keys(batch: Batch): KeyDigests {
    const { count } = batch;
    const { table, scratch, out } = this.#load(batch, KEY_ENTRY_INTS, 0);
    const { exports } = this.#memory;
    exports.digestKeys(...table, scratch, out);
    const row = exports.blankRow.value as number;
    return {
      entries: this.#ints(out, count * KEY_ENTRY_INTS),
      blank: row < 0 ? undefined : { row, field: exports.blankField.value as number },
    };
  }

  /** Hashes the keys and all values of the rows of a comma CSV. */
  rows(batch: Batch): RowDigests {
    const { count } = batch;
    const textBytes = bytesBetween(batch, 0, count) * this.#keyFields.length + this.#lengthBytes(count);
    const answers = this.#answerFields.length;
    const entryInts = ROW_ENTRY_INTS + answers;
    const { table, scratch, out } = this.#load(batch, entryInts, textBytes);
    const textsAt = aligned(out + count * entryInts * INT_BYTES);
    const textsEnd = this.#memory.exports.digestRows(
      ...table,
      scratch,
      out,
      textsAt,
      this.#answersAt,
      answers,
    );
    return {
      entries: this.#ints(out, count * entryInts),
      texts: this.#memory.bytes.subarray(textsAt, textsEnd),
    };
  }

  /** Frees the memory for others. After this call, the kernel must not be used. */
  release(): void {
    this.#memory.release();
  }

  /** Loads a batch, with room after it for a row, for the entries and for `textBytes` more. */
  #load(batch: Batch, entryInts: number, textBytes: number) {
    const { bytes, count, fields, starts, ends, numbers } = batch;
    const from = starts[0]!;
    const size = bytesBetween(batch, 0, count);
    const startsAt = aligned(this.#batchAt + size + SPARE_BYTES);
    const endsAt = aligned(startsAt + count * INT_BYTES);
    const numbersAt = aligned(endsAt + count * fields * INT_BYTES);
    const scratch = aligned(numbersAt + count * INT_BYTES);
    const keyBytes = size * this.#keyFields.length + this.#lengthBytes(1);
    const out = aligned(scratch + Math.max(size, keyBytes) + SPARE_BYTES);
    this.#memory.reserve(out + count * entryInts * INT_BYTES + textBytes + 4 * SPARE_BYTES);
    const memory = this.#memory.bytes;
    memory.set(bytes.subarray(from, from + size), this.#batchAt);
    memory.set(bytesOf(starts.subarray(0, count)), startsAt);
    memory.set(bytesOf(ends.subarray(0, count * fields)), endsAt);
    memory.set(bytesOf(numbers.subarray(0, count)), numbersAt);
    const key = [SPARE_BYTES, this.#keyFields.length];
    const table = [this.#batchAt - from, startsAt, endsAt, count, fields, ...key, 0, numbersAt];
    return { table, scratch, out };
  }

  #lengthBytes(rows: number): number {
    return rows * this.#keyFields.length * INT_BYTES;
  }

  #ints(address: number, length: number): Int32Array {
    return new Int32Array(this.#memory.bytes.buffer, address, length);
  }
}
