/** How stages read a source that was checked before: from where a run stands, and only while it is the same. */
import type { Checkpoint, ChunkRow } from '../checkpoint/checkpoint.js';
import type { Batch } from '../csv/batch.js';
import { SourceError } from '../errors.js';
import type { RunContext } from '../run-context.js';
import { pickRecords, readRecords } from '../source/read-records.js';
import type { RecordBlock } from '../source/record-block.js';
import { fileStamp } from '../source/source-files.js';
import { hashFile } from '../streams/hash-file.js';
import type { Position, Source } from '../types.js';
import { maxRecordBytes } from './chunk/cut-chunks.js';

/** A place in the source and the number of the record that comes next. */
export interface Place {
  readonly position: Position;
  readonly record: number;
}

/** Before the first record. */
export function firstPlace(source: Source): Place {
  return { position: { file: 0, offset: source.files[0]!.dataStart }, record: 1 };
}

/** Records from a place on; bad ones are passed over where the check allowed them. */
export function recordsFrom(
  run: Pick<RunContext, 'source' | 'config' | 'signal'>,
  place: Place,
): AsyncGenerator<Batch> {
  return readRecords(run.source, place, {
    maxRecordBytes: maxRecordBytes(run.config.upload, run.config.chunks.maxBytes),
    signal: run.signal,
    onBadRecord: (bad) => {
      if (run.config.source.onBadRecord === 'reject') return;
      throw sourceChanged(run.source.files[bad.file]!.path, bad.message);
    },
  });
}

/**
 * Looks whether the files between two places are still those that were checked, by size, times and inode.
 * @throws SourceError when one of them changed.
 */
export async function checkSourceStamp(source: Source, from: Position, to: Position): Promise<void> {
  for (const file of source.files.slice(from.file, to.file + 1)) {
    const { stamp } = await fileStamp(file.path);
    if (stamp !== file.stamp) throw sourceChanged(file.path, 'its size or time is not what it was');
  }
}

export function sourceChanged(path: string, how: string): SourceError {
  return new SourceError('SOURCE_CHANGED', `${path} changed while the run was working on it: ${how}`, {
    hint: 'put the file back as it was and run again, or begin afresh with: foliopipe run --new',
    facts: { file: path },
  });
}

/** The records of one chunk, read from the source again: whatever is cut out of them has the bytes it had. */
export type RecordsOfNeeds = Pick<RunContext, 'id' | 'source' | 'config' | 'signal'> & {
  readonly checkpoint: Pick<Checkpoint, 'pickedRecords'>;
};

/** Exactly the chunk's records, in the source's order. */
export async function* recordsOf(run: RecordsOfNeeds, chunk: ChunkRow): AsyncGenerator<Batch> {
  const batches = recordsFrom(run, { position: chunk.start, record: chunk.firstRecord });
  const picked = await run.checkpoint.pickedRecords(run.id, chunk.number);
  if (picked !== undefined) {
    yield* pickRecords(batches, [picked]);
    return;
  }
  for await (const batch of batches) {
    const wanted = chunk.lastRecord - batch.firstRecord + 1;
    if (wanted > 0) yield wanted < batch.count ? { ...batch, count: wanted } : batch;
    if (wanted <= batch.count) return;
  }
}

// The check of the source just before publishing: the same files, by stamp or else by content.

/** @throws SourceError when the content of a file is no longer what was checked and sent. */
export async function verifySource(source: Source): Promise<void> {
  for (const file of source.files) {
    const { stamp } = await fileStamp(file.path);
    if (stamp === file.stamp) continue;
    if ((await hashFile(file.path))?.sha256 !== file.sha256)
      throw sourceChanged(file.path, 'its content is another');
  }
}

// Whether what was read from the source again is what a chunk was cut from.

/** @throws SourceError when the records are not those of the chunk. */
export function checkBlock(run: Pick<RunContext, 'source'>, chunk: ChunkRow, block: RecordBlock): void {
  const same =
    block.count === chunk.records &&
    block.numbers[0] === chunk.firstRecord &&
    block.numbers[block.count - 1] === chunk.lastRecord;
  if (same) return;
  const file = run.source.files[chunk.start.file]!.path;
  throw sourceChanged(file, `chunk ${chunk.number} no longer holds the same records`);
}
