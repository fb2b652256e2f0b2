/**
 * The format of a segment's file: the dictionary, blocks, bucket by bucket (../streams/hash-buckets.ts), then the
 * directory. The dictionary holds values that are often repeated. A block is its hashes, as they are, and its entries,
 * packed (block-codec.ts). All numbers have 32 bits and the byte order of the machine.
 *
 * The entries of a block: for each its record's number (as the difference to the one before), its origin, its meta
 * number (bytes of the value, doubled, plus one if it is a failure), and after all of them the values, each filled
 * up to whole numbers.
 */
import type { Segment } from '../types.js';

export const SEGMENT_FORMAT = 'FOLIOSG1';
/** Numbers of an entry, besides its hash and its value. */
export const ENTRY_INTS = 3;

/** Which part of which folio gave answers, and when. */
export interface Origin {
  readonly run: string;
  readonly folio: string | null;
  readonly part: number | null;
  /** Epoch milliseconds. */
  readonly answeredAt: number;
}

/** A list in which equal items occur once. */
export function createList<T>() {
  const list: T[] = [];
  const known = new Map<string, number>();
  return {
    list,
    indexOf: (item: T): number => {
      const key = JSON.stringify(item);
      const index = known.get(key) ?? list.push(item) - 1;
      known.set(key, index);
      return index;
    },
  };
}

/** All blocks, one after the other, without gaps. */
export interface Blocks {
  readonly bucket: number[];
  /** Entries. */
  readonly count: number[];
  /** Numbers of the entries before packing. */
  readonly size: number[];
  /** Bytes of the packed entries. */
  readonly stored: number[];
  /** Checksums of the hashes and of the packed entries. */
  readonly hashSum: number[];
  readonly sum: number[];
}

/** The segment's row, except the size and hash of the file: a lost row is made again from it. */
export interface SegmentDirectory extends Omit<Segment, 'bytes' | 'sha256'> {
  /** Of the key of the hashes. */
  readonly fingerprint: string;
  readonly origins: readonly Origin[];
  /** Numbers of the dictionary, and its checksum. */
  readonly dictionary: { readonly size: number; readonly sum: number };
  readonly blocks: Blocks;
}

/** The meta number of a value of this length in bytes. */
export function metaOf(bytes: number, isFailed: boolean): number {
  return bytes * 2 + (isFailed ? 1 : 0);
}

/** Bytes of the value. */
export function valueBytes(meta: number): number {
  return meta >>> 1;
}

export function isFailure(meta: number): boolean {
  return (meta & 1) === 1;
}

/** Numbers that the value takes. */
export function valueInts(meta: number): number {
  return ((meta >>> 1) + 3) >>> 2;
}
