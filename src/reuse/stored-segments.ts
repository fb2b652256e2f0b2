/** Reads the files of segments without their rows: a lost checkpoint gets its rows from them. */
import { join } from 'node:path';
import { namesIn } from '../streams/system-error.js';
import type { Segment } from '../types.js';
import type { StoredSegments } from './answer-store.js';
import { type CheckedFile, openChecked } from './checked-file.js';
import { SEGMENT_FORMAT, type SegmentDirectory } from './segment-format.js';
import { BlockBuffers, SegmentReader } from './segment-reader.js';

const END = '.seg';

/** Reads every byte of every segment. @param folder with the files. */
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
