/**
 * Reads the source for the stages, from any position. A source whose content has changed since its check is an error.
 */
import type { Checkpoint, ChunkRow } from '../checkpoint/checkpoint.js';
import type { BadRecord } from '../csv/bad-record.js';
import type { Batch } from '../csv/table.js';
import { SourceError } from '../errors.js';
import type { RunContext } from '../run-context.js';
import { firstRecords, pickRecords, readRecords, withoutBlank } from '../source/read-records.js';
import { type BlockReader, createBlockReader, type RecordBlock } from '../source/record-block.js';
import { fileStamp, hashSourceFile } from '../source/source-files.js';
import type { Chunk, Position, Source, SourceFile } from '../types.js';
import { createUploadLayout, maxRecordBytes } from './chunk/cut-chunks.js';

/** The position in the source at which reading continues, and the number of the next record. */
export interface ReadPosition {
  readonly position: Position;
  readonly record: number;
}

/** The position before the first record. */
export function firstPosition(source: Source): ReadPosition {
  return { position: { file: 0, offset: source.files[0]!.dataStart }, record: 1 };
}

/** The position after the last record of a chunk or a stretch; without one, before the first record. */
export function positionAfter(
  source: Source,
  last: Pick<ChunkRow, 'end' | 'lastRecord'> | undefined,
): ReadPosition {
  if (last === undefined) return firstPosition(source);
  return { position: last.end, record: last.lastRecord + 1 };
}

/**
 * Reads records from a position on. Bad records are skipped; they are an error if the check of the source has found
 * none. If the run skips blank records, the batches say which these are.
 */
export function recordsFrom(
  run: Pick<RunContext, 'source' | 'config' | 'signal'>,
  from: ReadPosition,
): AsyncGenerator<Batch> {
  return readRecords(run.source, from, {
    maxRecordBytes: maxRecordBytes(run.config.upload, run.config.chunks.maxBytes),
    signal: run.signal,
    // Bytes that have changed since the check are found by the file's stamp.
    hasGoodText: run.source.rejected === 0,
    ...(skipsBlank(run.source) && { sentFields: createUploadLayout(run.source, run.config.upload).fields }),
    ...(run.source.rejected === 0 && {
      onBadRecord: (bad: BadRecord) => {
        throw sourceChanged(run.source.files[bad.file]!.path, bad.message);
      },
    }),
  });
}

/** Whether the source has blank records that are not sent. */
export function skipsBlank({ blank = 0 }: Pick<Source, 'blank'>): boolean {
  return blank > 0;
}

/** Reads records from a position on, without the blank ones that the run does not send. */
export function sendableRecordsFrom(
  run: Pick<RunContext, 'source' | 'config' | 'signal'>,
  from: ReadPosition,
): AsyncGenerator<Batch> {
  const all = recordsFrom(run, from);
  return skipsBlank(run.source) ? withoutBlank(all) : all;
}

/**
 * Checks the files between two positions.
 * @throws SourceError when the content of a file has changed since the source was checked; the signal's reason.
 */
export async function checkFilesBetween(run: CheckedSource, from: Position, to: Position): Promise<void> {
  await watchFiles(run)(from, to);
}

/** Checks all files, see `checkFilesBetween`. */
export function checkAllFiles(run: CheckedSource): Promise<void> {
  return checkFilesBetween(run, firstPosition(run.source).position, lastFile(run.source));
}

/** A position in the last file. */
export function lastFile({ files }: Source): Position {
  return { file: files.length - 1, offset: 0 };
}

type CheckedSource = Pick<RunContext, 'source' | 'signal'>;

/**
 * Checks the files between two positions as `checkFilesBetween` does.
 * @returns whether a file was touched since the watch began. The file has the checked content now, but what was read
 *   from it may differ.
 */
export type FileWatch = (from: Position, to: Position) => Promise<boolean>;

/** Watches the files for one reader of the source. Each reader has its own watch, because all must notice a touch. */
export function watchFiles({ source, signal }: CheckedSource): FileWatch {
  const begun = proofs;
  return async (from, to) => {
    let isTouched = false;
    for (const file of source.files.slice(from.file, to.file + 1)) {
      if ((await proofOf(file, signal)) > begun) isTouched = true;
    }
    return isTouched;
  };
}

/** How often this process has read a touched file again and found the checked content. */
let proofs = 0;

/** The touched files that have the checked content: the newer stamp, and the number of the proof. */
const proven = new WeakMap<SourceFile, { readonly stamp: string; readonly proof: number }>();

/**
 * A file with the same stamp is not read. A file that was touched or copied back has a new stamp and the same content.
 * @returns the number of its last proof; 0 if it was not touched.
 */
async function proofOf(file: SourceFile, signal: AbortSignal): Promise<number> {
  const { stamp, bytes } = await fileStamp(file.path);
  const known = proven.get(file) ?? { stamp: file.stamp, proof: 0 };
  if (stamp === known.stamp) return known.proof;
  if (bytes !== file.bytes) throw sourceChanged(file.path, `it has ${bytes} bytes instead of ${file.bytes}`);
  const found = await hashSourceFile(file.path, signal);
  if (found?.sha256 !== file.sha256) throw sourceChanged(file.path, 'its content is different');
  proofs += 1;
  proven.set(file, { stamp, proof: proofs });
  return proofs;
}

/**
 * Reads blocks from a position on. A block is given once its files are checked: what was read while one of them was
 * touched is read again.
 * @param read `recordsFrom`, or another way to read records.
 * @throws (by `take`) SourceError when the source has changed since it was checked.
 */
export function openSourceBlocks(
  run: Parameters<typeof recordsFrom>[0],
  from: ReadPosition,
  read: typeof recordsFrom = recordsFrom,
): BlockReader {
  let next = from;
  /** The record to which was skipped last. */
  let skipped = 0;
  let isTouched = watchFiles(run);
  let blocks = createBlockReader(read(run, next));
  return {
    take: async (count, limits) => {
      for (;;) {
        const block = await blocks.take(count, limits);
        if (!(await isTouched(next.position, block.end ?? next.position))) {
          if (block.end !== undefined) next = { position: block.end, record: block.numbers.at(-1)! + 1 };
          return block;
        }
        await blocks.close();
        isTouched = watchFiles(run);
        blocks = createBlockReader(read(run, next));
        await blocks.skipTo(skipped);
      }
    },
    skipTo: async (record) => {
      skipped = record;
      await blocks.skipTo(record);
    },
    close: () => blocks.close(),
  };
}

export function sourceChanged(path: string, how: string): SourceError {
  return new SourceError('SOURCE_CHANGED', `${path} changed while the run was working on it: ${how}`, {
    hint: 'put the file back as it was, then run the same command again; with the changed file, foliopipe run says how to go on, and what each way costs',
    facts: { file: path },
  });
}

export type RecordsOfChunkNeeds = Pick<RunContext, 'id' | 'source' | 'config' | 'signal'> & {
  readonly checkpoint: Pick<Checkpoint, 'pickedRecords'>;
};

/** Reads the records of a chunk again, in the order of the source. Cutting them again gives the same bytes. */
export async function* recordsOfChunk(run: RecordsOfChunkNeeds, chunk: ChunkRow): AsyncGenerator<Batch> {
  const from = { position: chunk.start, record: chunk.firstRecord };
  const picked = await run.checkpoint.pickedRecords(run.id, chunk.number);
  if (picked !== undefined) return yield* pickRecords(recordsFrom(run, from), [picked]);
  yield* firstRecords(sendableRecordsFrom(run, from), chunk.lastRecord);
}

/** About how many bytes the records of a chunk have in the source; 0 if that is not known. */
export function bytesInSource(chunk: ChunkRow): number {
  const { start, end } = chunk;
  return leavesOut(chunk) || start.file !== end.file ? 0 : end.offset - start.offset;
}

/** Whether some records between those of a chunk do not belong to it. */
export function leavesOut({
  firstRecord,
  lastRecord,
  records,
}: Pick<Chunk, 'firstRecord' | 'lastRecord' | 'records'>): boolean {
  return lastRecord - firstRecord + 1 !== records;
}

/** @throws SourceError when the block does not hold the records of the chunk. */
export function checkSameRecords(
  run: Pick<RunContext, 'source'>,
  chunk: ChunkRow,
  block: Pick<RecordBlock, 'count' | 'numbers'>,
): void {
  const same =
    block.count === chunk.records &&
    block.numbers[0] === chunk.firstRecord &&
    block.numbers[block.count - 1] === chunk.lastRecord;
  if (same) return;
  const file = run.source.files[chunk.start.file]!.path;
  throw sourceChanged(file, `chunk ${chunk.number} no longer holds the same records`);
}
