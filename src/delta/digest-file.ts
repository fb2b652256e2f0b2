/**
 * The format of row digests: blocks of entries by bucket (`csv/kernel/digest-kernel.ts`), blocks of the keys' texts in
 * the order of the rows, a directory of all blocks, and a footer. Each has a checksum.
 */
import { crc32 } from 'node:zlib';
import { HASH_BYTES, ROW_ENTRY_INTS, type RowDigests } from '../csv/kernel/digest-kernel.js';
import { bytesOf } from '../kernel/kernel-memory.js';
import { BUCKETS, HashBuckets } from '../streams/hash-buckets.js';
import type { StoredDigests } from './delta-store.js';
import type { BucketSize } from './row-matcher.js';

/** The number of blocks of texts, in the place of a bucket. */
const TEXTS = BUCKETS;
const MAGIC = Buffer.from('FPROWS2\n');
/** Begins the footer of an earlier version, whose entries hold no answers. */
const OLD_MAGIC = Buffer.from('FPROWS1\n');
/** Numbers of 64 bits in the directory for each block: bucket, position, bytes, rows, checksum. */
const BLOCK_NUMBERS = 5;
const FOOTER_BYTES = MAGIC.length + HASH_BYTES + 4 * 8 + 4;

export interface DigestWriter {
  /** Adds the next rows. */
  add(digests: RowDigests): void;
  /** Writes the directory and the footer. */
  end(): void;
}

/**
 * @param secret of the hashes.
 * @param entryInts numbers of 32 bits in the entry of a row.
 * @param append takes a piece at once; it may be overwritten after that.
 */
export function createDigestWriter(
  secret: Uint8Array,
  entryInts: number,
  append: (piece: Uint8Array) => void,
): DigestWriter {
  const directory: number[] = [];
  let position = 0;
  let rows = 0;
  const writeBlock = (bucket: number, piece: Uint8Array, count: number) => {
    directory.push(bucket, position, piece.length, count, crc32(piece));
    append(piece);
    position += piece.length;
  };
  const buckets = new HashBuckets(entryInts, (bucket, entries) =>
    writeBlock(bucket, bytesOf(entries), entries.length / entryInts),
  );
  return {
    add: ({ entries, texts }) => {
      const count = entries.length / entryInts;
      writeBlock(TEXTS, texts, count);
      buckets.add(entries);
      rows += count;
    },
    end: () => {
      buckets.end();
      const numbers = bytesOf(Float64Array.from(directory));
      append(numbers);
      const facts = bytesOf(Float64Array.of(position, numbers.length, rows, crc32(numbers)));
      const footer = Buffer.concat([MAGIC, secret, facts]);
      append(footer);
      append(bytesOf(Uint32Array.of(crc32(footer))));
    },
  };
}

/** The texts of the keys of consecutive rows. */
interface KeyTexts {
  /** Number of the first row, from 0. */
  readonly first: number;
  readonly count: number;
  /** For each row and each column of the key, its length in four bytes, and then the raw field. */
  readonly bytes: Buffer;
}

/** Digests of the rows of one output. */
export interface DigestReader {
  readonly secret: Uint8Array;
  readonly rows: number;
  /** The largest bucket. */
  readonly largest: BucketSize;
  /**
   * Reads the entries of a bucket.
   * @param into has room for the largest one.
   * @returns the number of entries.
   */
  bucket(bucket: number, into: Int32Array): Promise<number>;
  /** @param isWanted leaves out rows that are not needed: it gets the number of the first row, and how many there are. */
  texts(isWanted: (first: number, count: number) => boolean): AsyncGenerator<KeyTexts>;
}

/** The digests are damaged: their content is not what was written. */
export class DamagedDigestsError extends Error {}

/** @throws DamagedDigestsError, also when reading from it. */
export async function openDigestReader(stored: StoredDigests): Promise<DigestReader> {
  const footer = Buffer.alloc(FOOTER_BYTES);
  const footerBytes = await stored.read(Math.max(stored.size - FOOTER_BYTES, 0), footer);
  const body = footer.subarray(0, FOOTER_BYTES - 4);
  const isWhole =
    footerBytes === FOOTER_BYTES &&
    [MAGIC, OLD_MAGIC].some((magic) => footer.subarray(0, magic.length).equals(magic)) &&
    footer.readUInt32LE(FOOTER_BYTES - 4) === crc32(body);
  if (!isWhole) throw new DamagedDigestsError('its end is damaged');
  const secret = Uint8Array.from(body.subarray(MAGIC.length, MAGIC.length + HASH_BYTES));
  const fact = (index: number) => body.readDoubleLE(MAGIC.length + HASH_BYTES + index * 8);
  const numbers = new Float64Array(fact(1) / 8);
  await readChecked(stored, fact(0), fact(3), bytesOf(numbers));
  const blocks = blocksByBucket(numbers);
  const read = (block: number, into: Uint8Array) => {
    const [, position, , , checksum] = numbers.subarray(block * BLOCK_NUMBERS);
    return readChecked(stored, position!, checksum!, into);
  };
  const bytesOfBlock = (block: number) => numbers[block * BLOCK_NUMBERS + 2]!;
  const rowsOfBlock = (block: number) => numbers[block * BLOCK_NUMBERS + 3]!;
  const [entries] = blocks.of(0, TEXTS);
  const rowsOfBucket = (bucket: number) =>
    blocks.of(bucket, bucket + 1).reduce((sum, block) => sum + rowsOfBlock(block), 0);
  return {
    secret,
    rows: fact(2),
    largest: {
      rows: Math.max(...Array.from({ length: BUCKETS }, (_, bucket) => rowsOfBucket(bucket))),
      ints:
        entries === undefined
          ? ROW_ENTRY_INTS
          : bytesOfBlock(entries) / Int32Array.BYTES_PER_ELEMENT / rowsOfBlock(entries),
    },
    bucket: async (bucket, into) => {
      const all = bytesOf(into);
      let at = 0;
      for (const block of blocks.of(bucket, bucket + 1)) {
        await read(block, all.subarray(at, at + bytesOfBlock(block)));
        at += bytesOfBlock(block);
      }
      return rowsOfBucket(bucket);
    },
    texts: async function* (isWanted) {
      let first = 0;
      for (const block of blocks.of(TEXTS, TEXTS + 1)) {
        const count = rowsOfBlock(block);
        if (isWanted(first, count)) {
          const texts = Buffer.allocUnsafe(bytesOfBlock(block));
          await read(block, texts);
          yield { first, count, bytes: texts };
        }
        first += count;
      }
    },
  };
}

/** The indexes of the blocks in the directory, sorted by bucket; those of one bucket in their order. */
function blocksByBucket(directory: Float64Array) {
  const count = directory.length / BLOCK_NUMBERS;
  const firsts = new Int32Array(TEXTS + 2);
  const bucketOf = (block: number) => directory[block * BLOCK_NUMBERS]!;
  for (let block = 0; block < count; block++) firsts[bucketOf(block) + 1]! += 1;
  for (let bucket = 0; bucket <= TEXTS; bucket++) firsts[bucket + 1]! += firsts[bucket]!;
  const places = firsts.slice();
  const sorted = new Int32Array(count);
  for (let block = 0; block < count; block++) sorted[places[bucketOf(block)]!++] = block;
  /** @param to exclusive. */
  const of = (from: number, to: number) => sorted.subarray(firsts[from]!, firsts[to]!);
  return { of };
}

async function readChecked(
  stored: StoredDigests,
  position: number,
  checksum: number,
  into: Uint8Array,
): Promise<void> {
  const bytes = await stored.read(position, into);
  if (bytes === into.length && crc32(into) === checksum) return;
  throw new DamagedDigestsError(`its bytes from ${position} to ${position + into.length} are damaged`);
}
