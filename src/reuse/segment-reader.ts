/** Reads the blocks of a segment. Data that differs from what was written is an error: a miss would pay again. */
import { join } from 'node:path';
import { HASH_INTS } from '../csv/kernel/hash-kernel.js';
import { ConfigError } from '../errors.js';
import { bytesOf } from '../kernel/kernel-memory.js';
import { BUCKETS } from '../streams/hash-buckets.js';
import { namesIn } from '../streams/system-error.js';
import type { Segment } from '../types.js';
import type { StoredSegments } from './answer-store.js';
import { type IntBuffers, readChecked, Scratch } from './append-file.js';
import { BlockCodec } from './block-codec.js';
import { type CheckedFile, openChecked } from './checked-file.js';
import { type HashKey, secretLost } from './secret.js';
import {
  type Blocks,
  ENTRY_INTS,
  type Origin,
  SEGMENT_FORMAT,
  type SegmentDirectory,
} from './segment-format.js';

/** The buffers for one block. Readers that are used in turn may share them. */
export class BlockBuffers {
  readonly hashes = new Scratch();
  readonly stored = new Scratch();
  readonly entries = new Scratch();
  readonly codec = new BlockCodec();
}

export class SegmentReader {
  readonly segment: Segment;
  readonly origins: readonly Origin[];
  readonly #file: CheckedFile<SegmentDirectory>;
  readonly #damaged: () => Error;
  readonly #buffers: BlockBuffers;
  readonly #dictionary: Int32Array;
  /** Offsets of the blocks. */
  readonly #offsets: Float64Array;
  /** Index of the first block of each bucket, and the index after the last block. */
  readonly #firstBlocks = new Int32Array(BUCKETS + 1);

  constructor(
    segment: Segment,
    file: CheckedFile<SegmentDirectory>,
    damaged: () => Error,
    buffers: BlockBuffers,
  ) {
    this.segment = segment;
    this.#file = file;
    this.#damaged = damaged;
    this.#buffers = buffers;
    const { blocks, origins, dictionary } = file.directory;
    this.#dictionary = new Int32Array(dictionary.size);
    const bytes = bytesOf(this.#dictionary);
    readChecked(file.fd, bytes, 0, dictionary.sum, damaged);
    this.origins = origins;
    this.#offsets = new Float64Array(blocks.count.length);
    let offset = bytes.length;
    for (let block = 0; block < blocks.count.length; block++) {
      this.#offsets[block] = offset;
      offset += hashBytes(blocks.count[block]!) + blocks.stored[block]!;
      this.#firstBlocks[blocks.bucket[block]! + 1] = block + 1;
    }
    for (let bucket = 1; bucket <= BUCKETS; bucket++) {
      if (this.#firstBlocks[bucket] === 0) this.#firstBlocks[bucket] = this.#firstBlocks[bucket - 1]!;
    }
  }

  /** Index of the first block of a bucket; its last block is before the first of the next bucket. */
  firstBlock(bucket: number): number {
    return this.#firstBlocks[bucket]!;
  }

  /** Entries of a block. */
  count(block: number): number {
    return this.#file.directory.blocks.count[block]!;
  }

  /**
   * The hashes of a block, valid until the next call.
   * @param room into which they are read.
   * @throws ConfigError `REUSE_SEGMENT_DAMAGED`.
   */
  hashes(block: number, room: IntBuffers = this.#buffers.hashes): Int32Array {
    const { count, hashSum } = this.#file.directory.blocks;
    const ints = room.ints(count[block]! * HASH_INTS);
    const bytes = bytesOf(ints.subarray(0, count[block]! * HASH_INTS));
    readChecked(this.#file.fd, bytes, this.#offsets[block]!, hashSum[block]!, this.#damaged);
    return ints;
  }

  /**
   * The entries of a block, as segment-format.ts says; valid until the next call.
   * @param room into which they are read.
   * @throws ConfigError `REUSE_SEGMENT_DAMAGED`.
   */
  entries(block: number, room: IntBuffers = this.#buffers.entries): Int32Array {
    const { count, size } = this.#file.directory.blocks;
    const packed = this.stored(block);
    const ints = room.ints(size[block]!);
    const small = count[block]! * ENTRY_INTS;
    if (!this.#buffers.codec.unpack(packed, ints, size[block]!, small, this.#dictionary))
      throw this.#damaged();
    return ints;
  }

  /** The entries of a block as they are in the file, compressed; valid until the next call. */
  stored(block: number): Uint8Array {
    const { count, stored, sum } = this.#file.directory.blocks;
    const ints = Math.ceil(stored[block]! / 4);
    const bytes = bytesOf(this.#buffers.stored.ints(ints)).subarray(0, stored[block]!);
    const offset = this.#offsets[block]! + hashBytes(count[block]!);
    readChecked(this.#file.fd, bytes, offset, sum[block]!, this.#damaged);
    return bytes;
  }

  /** Numbers that the values of the blocks may repeat. */
  get dictionary(): Int32Array {
    return this.#dictionary;
  }

  /** What the file says about its blocks. */
  get blocks(): Blocks {
    return this.#file.directory.blocks;
  }

  close(): void {
    this.#file.close();
  }
}

/**
 * Opens a segment and checks its directory.
 * @throws ConfigError `REUSE_SEGMENT_LOST`, `REUSE_SEGMENT_DAMAGED`; `REUSE_SECRET_LOST` when it was written with another
 *   secret.
 */
export function openSegmentReader(
  segment: Segment,
  path: string,
  { key, secretPath }: { readonly key: HashKey; readonly secretPath: string },
  buffers: BlockBuffers,
): SegmentReader {
  const damaged = () => segmentDamaged(segment, path);
  const errors = { lost: (cause: unknown) => segmentLost(segment, path, cause), damaged };
  const file = openChecked<SegmentDirectory>(path, SEGMENT_FORMAT, segment, errors);
  const { id, fingerprint } = file.directory;
  try {
    if (id !== segment.id) throw damaged();
    if (fingerprint !== key.fingerprint) {
      throw secretLost(secretPath, `is not the one with which ${path} was written`);
    }
    return new SegmentReader(segment, file, damaged, buffers);
  } catch (error) {
    file.close();
    throw error;
  }
}

function hashBytes(count: number): number {
  return count * HASH_INTS * Int32Array.BYTES_PER_ELEMENT;
}

function segmentLost({ id, run }: Segment, path: string, cause: unknown): ConfigError {
  return new ConfigError('REUSE_SEGMENT_LOST', `${path}: the stored answers of ${id} are missing`, {
    facts: { segment: id, run, file: path },
    cause,
  });
}

function segmentDamaged({ id, run }: Segment, path: string): ConfigError {
  return new ConfigError('REUSE_SEGMENT_DAMAGED', `${path}: the stored answers of ${id} are damaged`, {
    facts: { segment: id, run, file: path },
  });
}

const END = '.seg';

/**
 * Reads every byte of every segment, without their rows: a lost checkpoint gets its rows from them.
 * @param folder with the files.
 */
export function storedSegments(folder: string): StoredSegments {
  const segments: Segment[] = [];
  const damaged: string[] = [];
  const buffers = new BlockBuffers();
  const names = namesIn(folder).filter((name) => name.endsWith(END));
  for (const name of names.sort()) {
    const path = join(folder, name);
    const found = readWhole(path, name.slice(0, -END.length), buffers);
    if (found === undefined) damaged.push(path);
    else segments.push(found);
  }
  buffers.codec.release();
  return { segments, damaged };
}

/** Thrown and caught in this file only. */
class UnreadableFile extends Error {}

/** @returns undefined if the file is damaged. */
function readWhole(path: string, id: string, buffers: BlockBuffers): Segment | undefined {
  const damaged = () => new UnreadableFile(path);
  let file: CheckedFile<SegmentDirectory> | undefined;
  try {
    file = openChecked<SegmentDirectory>(path, SEGMENT_FORMAT, undefined, { lost: damaged, damaged });
    const { fingerprint: _, origins: _origins, dictionary: _dictionary, blocks, ...row } = file.directory;
    if (row.id !== id) return undefined;
    const segment = { ...row, ...file.identity };
    const reader = new SegmentReader(segment, file, damaged, buffers);
    for (let block = 0; block < blocks.count.length; block++) {
      reader.hashes(block);
      reader.entries(block);
    }
    return segment;
  } catch (error) {
    if (error instanceof UnreadableFile) return undefined;
    throw error;
  } finally {
    file?.close();
  }
}
