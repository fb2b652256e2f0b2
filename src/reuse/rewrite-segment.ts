/**
 * Writes a segment again without some of its answers. Blocks that lose nothing are copied as they are, so that one
 * record is forgotten as fast as the disk copies.
 */
import { setImmediate as pause } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { HASH_INTS, HashKernel } from '../csv/kernel/hash-kernel.js';
import { bytesOf } from '../kernel/kernel-memory.js';
import type { Segment } from '../types.js';
import type { Rewritten, Unwanted } from './answer-store.js';
import type { AppendFile } from './append-file.js';
import type { HashKey } from './secret.js';
import { createBlock, noBlocks } from './segment-blocks.js';
import { type Blocks, ENTRY_INTS, isFailure, type SegmentDirectory, valueInts } from './segment-format.js';
import type { SegmentReader } from './segment-reader.js';
import { spanOf, writeSegmentFile } from './segment-writer.js';

interface RewriteTarget {
  readonly path: string;
  readonly id: string;
  readonly key: HashKey;
}

/**
 * @param reader of the segment; closed by the caller.
 * @returns undefined if no answer is dropped: then no file is written.
 */
export async function rewriteSegment(
  reader: SegmentReader,
  unwanted: Exclude<Unwanted, { readonly all: true }>,
  { path, id, key }: RewriteTarget,
): Promise<Rewritten | undefined> {
  const isUnwanted = selectEntries(reader, unwanted, key);
  const dropped = { successful: 0, failed: 0 };
  /** The blocks that lose entries. */
  const lost = new Set<number>();
  for (let block = 0; block < reader.blocks.count.length; block++) {
    const entries = isUnwanted(block);
    if (entries.length > 0) {
      lost.add(block);
      const count = reader.count(block);
      const ints = reader.entries(block);
      for (const entry of entries) {
        if (isFailure(ints[2 * count + entry]!)) dropped.failed += 1;
        else dropped.successful += 1;
      }
    }
    await pause();
  }
  const lacking = dropped.successful + dropped.failed;
  if (lacking === 0) return undefined;
  const { segment, origins } = reader;
  const row = without(segment, id, dropped);
  const left =
    'before' in unwanted ? origins.filter(({ answeredAt }) => answeredAt >= unwanted.before) : origins;
  const span = row.successful + row.failed === 0 || left.length === 0 ? {} : spanOf(left);
  return {
    segment: await writeSegmentFile({ ...row, ...span }, path, key, origins, (target) =>
      copyBlocks(reader, lost, isUnwanted, target),
    ),
    dropped,
  };
}

/** Writes a segment without any answer; the old file is not needed. */
export async function emptySegment(
  segment: Segment,
  { path, id, key }: RewriteTarget,
): Promise<Rewritten | undefined> {
  const { successful, failed } = segment;
  if (successful + failed === 0) return undefined;
  const row = without(segment, id, segment);
  return {
    segment: await writeSegmentFile(row, path, key, [], async () => ({
      dictionary: { size: 0, sum: 0 },
      blocks: noBlocks(),
    })),
    dropped: { successful, failed },
  };
}

function without(
  segment: Segment,
  id: string,
  dropped: Rewritten['dropped'],
): Omit<Segment, 'bytes' | 'sha256'> {
  const { bytes: _, sha256: _hash, ...row } = segment;
  const successful = segment.successful - dropped.successful;
  const failed = segment.failed - dropped.failed;
  const takenOut = (segment.takenOut ?? 0) + dropped.successful + dropped.failed;
  return { ...row, id, successful, failed, takenOut };
}

/** Makes a function that returns the indexes of the unwanted entries of a block, ascending. */
function selectEntries(
  reader: SegmentReader,
  unwanted: Exclude<Unwanted, { readonly all: true }>,
  key: HashKey,
): (block: number) => number[] {
  if ('before' in unwanted) {
    const isOld = reader.origins.map(({ answeredAt }) => answeredAt < unwanted.before);
    if (!isOld.includes(true)) return () => [];
    return (block) => {
      const count = reader.count(block);
      const ints = reader.entries(block);
      return indexes(count, (entry) => isOld[ints[count + entry]!]!);
    };
  }
  const { records, fields } = unwanted;
  const kernel = new HashKernel(key.bytes, fields.fields, fields.delimiter);
  const wanted = kernel.hash(records);
  const hashes = new Set(Array.from({ length: records.count }, (_, record) => textOf(wanted, record)));
  kernel.release();
  return (block) => {
    const ints = reader.hashes(block);
    return indexes(reader.count(block), (entry) => hashes.has(textOf(ints, entry)));
  };
}

function indexes(count: number, isChosen: (entry: number) => boolean): number[] {
  const chosen: number[] = [];
  for (let entry = 0; entry < count; entry++) if (isChosen(entry)) chosen.push(entry);
  return chosen;
}

function textOf(hashes: Int32Array, at: number): string {
  return hashes.subarray(at * HASH_INTS, (at + 1) * HASH_INTS).join(' ');
}

/** @param lost the blocks that lose entries. */
async function copyBlocks(
  reader: SegmentReader,
  lost: ReadonlySet<number>,
  isUnwanted: (block: number) => readonly number[],
  target: AppendFile,
): Promise<Pick<SegmentDirectory, 'dictionary' | 'blocks'>> {
  const { count } = reader.blocks;
  const blocks = noBlocks();
  const lists = Object.keys(blocks) as (keyof Blocks)[];
  const { dictionary } = reader;
  const bytes = bytesOf(dictionary);
  target.append(bytes);
  for (let block = 0; block < count.length; block++) {
    if (lost.has(block)) {
      copyEntries(reader, block, new Set(isUnwanted(block)), target, blocks);
    } else {
      target.append(bytesOf(reader.hashes(block).subarray(0, count[block]! * HASH_INTS)));
      target.append(reader.stored(block));
      for (const list of lists) blocks[list].push(reader.blocks[list][block]!);
    }
    await pause();
  }
  return { dictionary: { size: dictionary.length, sum: crc32(bytes) }, blocks };
}

function copyEntries(
  reader: SegmentReader,
  block: number,
  lost: ReadonlySet<number>,
  target: AppendFile,
  blocks: Blocks,
): void {
  const count = reader.count(block);
  const hashes = reader.hashes(block);
  const ints = reader.entries(block);
  // One block becomes one block, because it only gets smaller.
  const kept = createBlock({ entries: count, valueInts: ints.length }, reader.dictionary);
  let number = 0;
  let value = ENTRY_INTS * count;
  for (let entry = 0; entry < count; entry++) {
    number = (number + ints[entry]!) | 0;
    const meta = ints[2 * count + entry]!;
    const words = valueInts(meta);
    if (!lost.has(entry)) {
      const whole = new Int32Array(HASH_INTS + ENTRY_INTS + words);
      whole.set(hashes.subarray(entry * HASH_INTS, (entry + 1) * HASH_INTS));
      whole.set([number, ints[count + entry]!, meta], HASH_INTS);
      whole.set(ints.subarray(value, value + words), HASH_INTS + ENTRY_INTS);
      kept.add(whole, 0, words);
    }
    value += words;
  }
  kept.write(target, blocks, reader.blocks.bucket[block]!);
  kept.release();
}
