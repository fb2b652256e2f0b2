/**
 * Reads the source for the stages, from any position. A source whose content has changed since its check is an error.
 */
import type { Checkpoint, ChunkRow } from '../checkpoint/checkpoint.js';
import type { BadRecord } from '../csv/scan-records.js';
import type { Batch } from '../csv/table.js';
import { SourceError } from '../errors.js';
import type { RunContext } from '../run-context.js';
import { firstRecords, pickRecords, readRecords, withoutBlank } from '../source/read-records.js';
import type { RecordBlock } from '../source/record-block.js';
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
 * @returns whether a file was touched since the last check. The file has the checked content now, but what was read
 *   from it between the two checks may differ.
 * @throws SourceError when the content of a file has changed since the source was checked; the signal's reason.
 */
export async function checkFilesBetween(run: CheckedSource, from: Position, to: Position): Promise<boolean> {
  let isTouched = false;
  for (const file of run.source.files.slice(from.file, to.file + 1)) {
    if (await checkFile(file, run.signal)) isTouched = true;
  }
  return isTouched;
}

/** Checks all files, see `checkFilesBetween`. */
export async function checkAllFiles(run: CheckedSource): Promise<boolean> {
  const end = { file: run.source.files.length - 1, offset: 0 };
  return checkFilesBetween(run, firstPosition(run.source).position, end);
}

type CheckedSource = Pick<RunContext, 'source' | 'signal'>;

/** The newer stamps of files that were read again and had the checked content. */
const provenStamps = new WeakMap<SourceFile, string>();

/**
 * A file with the same stamp is not read. A file that was touched or copied back has a new stamp and the same content.
 */
async function checkFile(file: SourceFile, signal: AbortSignal): Promise<boolean> {
  const { stamp, bytes } = await fileStamp(file.path);
  if (stamp === (provenStamps.get(file) ?? file.stamp)) return false;
  if (bytes !== file.bytes) throw sourceChanged(file.path, `it has ${bytes} bytes instead of ${file.bytes}`);
  const found = await hashSourceFile(file.path, signal);
  if (found?.sha256 !== file.sha256) throw sourceChanged(file.path, 'its content is different');
  provenStamps.set(file, stamp);
  return true;
}

export function sourceChanged(path: string, how: string): SourceError {
  return new SourceError('SOURCE_CHANGED', `${path} changed while the run was working on it: ${how}`, {
    hint: 'put the file back as it was, then run the same command again; with the changed file, foliopipe run names the ways on and what each costs',
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
