/**
 * Packs the entries of blocks in WebAssembly, several times faster than zlib reads them. The first numbers of a block are
 * small: they are packed byte by byte, all lowest bytes first, so that equal bytes are side by side.
 */
import { aligned, bytesOf, INT_BYTES, KernelMemory, SPARE_BYTES } from '../kernel/kernel-memory.js';

/** What assembly/pack.ts exports. */
interface PackExports {
  pack(begin: number, from: number, to: number, out: number, table: number, tableBits: number): number;
  unpack(begin: number, from: number, to: number, out: number, end: number): number;
  splitBytes(from: number, count: number, out: number): void;
  joinBytes(from: number, count: number, out: number): void;
}

/** The table of the packer has 2 ** bits numbers: fewer for a small block, since it is cleared for each. */
const MIN_TABLE_BITS = 8;
const MAX_TABLE_BITS = 16;
/** For the packer, address 0 is an empty slot. */
const FIRST_ADDRESS = SPARE_BYTES;
/** More bytes than packing or unpacking writes after its end. */
const ROOM_BYTES = 128;

export class BlockCodec {
  readonly #memory = new KernelMemory<PackExports>();

  /**
   * Packs numbers.
   * @param small the first ones, which are small numbers, one array after the other.
   * @param values all others.
   * @param dictionary numbers that may be repeated.
   * @returns bytes that are valid until the next call.
   */
  pack(small: readonly Int32Array[], values: Int32Array, dictionary: Int32Array): Uint8Array {
    const smallInts = small.reduce((sum, { length }) => sum + length, 0);
    const bytes = (smallInts + values.length) * INT_BYTES;
    const smallBytes = smallInts * INT_BYTES;
    const known = smallInts + values.length + dictionary.length;
    const bits = Math.max(MIN_TABLE_BITS, Math.min(MAX_TABLE_BITS, Math.ceil(Math.log2(known + 1))));
    const tableBytes = 2 ** bits * INT_BYTES;
    const plainAt = aligned(FIRST_ADDRESS + tableBytes);
    const dictionaryAt = aligned(plainAt + smallBytes + ROOM_BYTES);
    const splitAt = dictionaryAt + dictionary.byteLength;
    const outAt = aligned(splitAt + bytes + ROOM_BYTES);
    this.#memory.reserve(outAt + bytes + Math.ceil(bytes / 255) + ROOM_BYTES);
    const { exports, bytes: memory } = this.#memory;
    memory.fill(0, FIRST_ADDRESS, FIRST_ADDRESS + tableBytes);
    let at = plainAt;
    for (const ints of small) {
      memory.set(bytesOf(ints), at);
      at += ints.byteLength;
    }
    memory.set(bytesOf(dictionary), dictionaryAt);
    memory.set(bytesOf(values), splitAt + smallBytes);
    exports.splitBytes(plainAt, smallInts, splitAt);
    const end = exports.pack(dictionaryAt, splitAt, splitAt + bytes, outAt, FIRST_ADDRESS, bits);
    return memory.subarray(outAt, end);
  }

  /**
   * Unpacks numbers.
   * @param size how many numbers there are; `small` and `dictionary` as when they were packed.
   * @returns whether the bytes hold `size` numbers.
   */
  unpack(packed: Uint8Array, into: Int32Array, size: number, small: number, dictionary: Int32Array): boolean {
    const bytes = size * INT_BYTES;
    const smallBytes = small * INT_BYTES;
    const dictionaryAt = aligned(FIRST_ADDRESS + packed.length + ROOM_BYTES);
    const splitAt = dictionaryAt + dictionary.byteLength;
    const plainAt = aligned(splitAt + bytes + ROOM_BYTES);
    this.#memory.reserve(plainAt + smallBytes + ROOM_BYTES);
    const { exports, bytes: memory } = this.#memory;
    memory.set(packed, FIRST_ADDRESS);
    memory.set(bytesOf(dictionary), dictionaryAt);
    const packedEnd = FIRST_ADDRESS + packed.length;
    const fits = exports.unpack(dictionaryAt, FIRST_ADDRESS, packedEnd, splitAt, splitAt + bytes);
    if (fits === 0) return false;
    exports.joinBytes(splitAt, small, plainAt);
    const target = bytesOf(into.subarray(0, size));
    target.set(memory.subarray(plainAt, plainAt + smallBytes));
    target.set(memory.subarray(splitAt + smallBytes, splitAt + bytes), smallBytes);
    return true;
  }

  /** Frees the memory for others. After this call it must not be used. */
  release(): void {
    this.#memory.release();
  }
}
