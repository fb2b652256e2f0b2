/** Writes the entries in the lanes of a segment as its blocks, and chooses the dictionary that they share. */
import { setImmediate as pause } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { HASH_INTS } from '../csv/kernel/hash-kernel.js';
import { bytesOf } from '../kernel/kernel-memory.js';
import { type AppendFile, Scratch } from './append-file.js';
import { BlockCodec } from './block-codec.js';
import { type Lane, readExtent, temporaryDamaged } from './lanes.js';
import { type Blocks, ENTRY_INTS, isFailure, type SegmentDirectory, valueInts } from './segment-format.js';

export interface BlockLimits {
  /** The most entries of a block. */
  readonly entries: number;
  /** The most numbers of its values, unless one value has more. */
  readonly valueInts: number;
}

/** More entries would hardly be packed better, and a block is in memory several times while it is written. */
export const BLOCK_LIMITS: BlockLimits = { entries: 8_192, valueInts: 1024 * 1024 };

/**
 * Successes come before failures in each bucket, and a look-up takes the first entry of a hash: of equal records of a
 * run, a success decides.
 * @param fd of the file that holds the lanes, one for each bucket.
 * @returns what the directory says about them.
 */
export async function writeBlocks(
  fd: number,
  lanes: readonly Lane[],
  target: AppendFile,
  limits: BlockLimits,
): Promise<Pick<SegmentDirectory, 'dictionary' | 'blocks'>> {
  const blocks = noBlocks();
  const dictionary = chooseDictionary(fd, lanes);
  const bytes = bytesOf(dictionary);
  target.append(bytes);
  const block = createBlock(limits, dictionary);
  const scratch = new Scratch();
  /** @returns whether the lane has other entries. */
  const addAll = (bucket: number, lane: Lane, failed: boolean): boolean => {
    let hasOthers = false;
    for (let extent = 0; extent < lane.sizes.length; extent++) {
      const size = lane.sizes[extent]!;
      const ints = scratch.ints(size);
      readExtent(fd, lane, extent, ints.subarray(0, size), temporaryDamaged);
      for (let at = 0; at < size; ) {
        const meta = ints[at + HASH_INTS + ENTRY_INTS - 1]!;
        const words = valueInts(meta);
        if (isFailure(meta) === failed) {
          if (!block.hasRoom(words)) block.write(target, blocks, bucket);
          block.add(ints, at, words);
        } else hasOthers = true;
        at += HASH_INTS + ENTRY_INTS + words;
      }
    }
    return hasOthers;
  };
  for (const [bucket, lane] of lanes.entries()) {
    if (addAll(bucket, lane, false)) addAll(bucket, lane, true);
    block.write(target, blocks, bucket);
    await pause();
  }
  block.release();
  return { dictionary: { size: dictionary.length, sum: crc32(bytes) }, blocks };
}

export function noBlocks(): Blocks {
  return { bucket: [], count: [], size: [], stored: [], hashSum: [], sum: [] };
}

/** The block that is being filled. */
export function createBlock({ entries, valueInts: maxValues }: BlockLimits, dictionary: Int32Array) {
  const hashes = new Int32Array(entries * HASH_INTS);
  const numbers = new Int32Array(entries);
  const origins = new Int32Array(entries);
  const metas = new Int32Array(entries);
  const codec = new BlockCodec();
  let values = new Int32Array(64 * 1024);
  let count = 0;
  let filled = 0;
  let lastNumber = 0;

  return {
    hasRoom: (words: number) => count === 0 || (count < entries && filled + words <= maxValues),
    /** Adds the entry at index `at`, whose value has this many numbers. */
    add: (ints: Int32Array, at: number, words: number): void => {
      for (let i = 0; i < HASH_INTS; i++) hashes[count * HASH_INTS + i] = ints[at + i]!;
      const number = ints[at + HASH_INTS]!;
      numbers[count] = (number - lastNumber) | 0;
      lastNumber = number;
      origins[count] = ints[at + HASH_INTS + 1]!;
      metas[count] = ints[at + HASH_INTS + 2]!;
      count += 1;
      if (filled + words > values.length) {
        const larger = new Int32Array(Math.max(values.length * 2, filled + words));
        larger.set(values.subarray(0, filled));
        values = larger;
      }
      const from = at + HASH_INTS + ENTRY_INTS;
      for (let i = 0; i < words; i++) values[filled + i] = ints[from + i]!;
      filled += words;
    },
    release: () => codec.release(),
    /** Appends the block to the file and begins the next one. */
    write: (file: AppendFile, blocks: Blocks, bucket: number) => {
      if (count === 0) return;
      const small = [numbers, origins, metas].map((ints) => ints.subarray(0, count));
      const plain = bytesOf(hashes.subarray(0, count * HASH_INTS));
      const stored = codec.pack(small, values.subarray(0, filled), dictionary);
      file.append(plain);
      file.append(stored);
      blocks.bucket.push(bucket);
      blocks.count.push(count);
      blocks.size.push(count * ENTRY_INTS + filled);
      blocks.stored.push(stored.length);
      blocks.hashSum.push(crc32(plain));
      blocks.sum.push(crc32(stored));
      count = 0;
      filled = 0;
      lastNumber = 0;
    },
  };
}

/** The most numbers of a dictionary: 64 KiB. */
const MAX_INTS = 16 * 1024;
/** The most values that are looked at. */
const SAMPLE_VALUES = 16 * 1024;
/** Values that begin with the same numbers count as one: answers with the same code have the same title. */
const PREFIX_INTS = 2;

/**
 * The dictionary of a segment: values that its blocks may repeat. A small segment has few entries in each block, so
 * that most repetitions are found only in the dictionary.
 * @param fd of the file that holds the lanes of a segment's entries.
 */
function chooseDictionary(fd: number, lanes: readonly Lane[]): Int32Array {
  const chosen = new Int32Array(MAX_INTS);
  const prefixes = new Set<string>();
  const scratch = new Scratch();
  let filled = 0;
  let seen = 0;
  for (const lane of lanes) {
    for (let extent = 0; extent < lane.sizes.length && seen < SAMPLE_VALUES; extent++) {
      const size = lane.sizes[extent]!;
      const ints = scratch.ints(size);
      readExtent(fd, lane, extent, ints.subarray(0, size), temporaryDamaged);
      for (let at = 0; at < size && seen < SAMPLE_VALUES; seen++) {
        const from = at + HASH_INTS + ENTRY_INTS;
        const words = valueInts(ints[from - 1]!);
        at = from + words;
        if (words < PREFIX_INTS || filled + words > MAX_INTS) continue;
        const prefix = `${ints[from]} ${ints[from + 1]}`;
        if (prefixes.has(prefix)) continue;
        prefixes.add(prefix);
        chosen.set(ints.subarray(from, from + words), filled);
        filled += words;
      }
    }
  }
  return chosen.subarray(0, filled);
}
