/** Checks before a run pays that the disks have room for what it will write. */
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Config } from '../config/schema.js';
import { TroubleError } from '../errors.js';
import { formatBytes } from '../quantities.js';
import type { Choice, Source } from '../types.js';

/** Bytes of an answer in a segment, and of its entry in a lane while the segment is made. */
const SEGMENT_BYTES = 40;
const LANE_BYTES = 120;
/** Bytes that an answer adds to a row, about. */
const ANSWER_BYTES = 80;

/**
 * For runs that reuse answers: they keep chunk files until they are published, and make a segment. The estimate is
 * rough; a disk that fills up all the same ends the run, which goes on when there is room.
 * @throws TroubleError `DISK_TOO_SMALL` with the figures.
 */
export async function checkDisk(
  { stateDir, output }: Pick<Config, 'stateDir' | 'output'>,
  source: Source,
  choice: Choice,
): Promise<void> {
  const bytes = source.files.reduce((sum, file) => sum + file.bytes * (file.dialect.gzip ? 4 : 1), 0);
  const records = source.records - source.rejected;
  const sentBytes = (bytes * choice.sent) / records;
  const state = sentBytes + choice.sent * (SEGMENT_BYTES + LANE_BYTES + ANSWER_BYTES);
  const written = bytes + records * ANSWER_BYTES;
  const folder = dirname(output.path);
  const [stateDisk, outputDisk] = [await diskOf(stateDir), await diskOf(folder)];
  if (stateDisk === undefined || outputDisk === undefined) return;
  if (stateDisk.id === outputDisk.id) {
    expectRoom(stateDir, stateDisk.free, state + written, 'its state and its output');
    return;
  }
  expectRoom(stateDir, stateDisk.free, state, 'its state');
  expectRoom(folder, outputDisk.free, written, 'its output');
}

function expectRoom(folder: string, free: number, needed: number, what: string): void {
  if (free >= needed) return;
  throw new TroubleError(
    'DISK_TOO_SMALL',
    `${folder} has ${formatBytes(free)} free, and the run needs about ${formatBytes(needed)} there for ${what}`,
    {
      hint: 'nothing was sent; make room (foliopipe runs prune removes the results of old runs), then run the same command again',
      facts: { folder, free, needed: Math.ceil(needed) },
    },
  );
}

/** The free bytes of the disk of a folder, or of the first of its parents that exists; undefined if not known. */
export async function diskOf(
  folder: string,
): Promise<{ readonly id: string; readonly free: number } | undefined> {
  try {
    const { type, blocks, bsize, bavail } = await statfs(folder);
    return { id: `${type} ${blocks} ${bsize}`, free: bavail * bsize };
  } catch {
    const parent = dirname(folder);
    return parent === folder ? undefined : diskOf(parent);
  }
}
