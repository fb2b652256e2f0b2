/**
 * Finds the records of a run that are FAILED, after the answers of closed rounds and of searches have replaced those of
 * the source's chunks. `failedRecords` reads the source once, and joins only chunks with a failed record. `failedNumbers`
 * reads neither the source nor successful parts: merging has proved that each result in a failed part has its record's
 * number.
 */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { chunksInOrder, eachSearch } from '../../checkpoint/walk-run.js';
import { DamagedPartError } from '../../files/run-files.js';
import { isFailed } from '../../results/answers.js';
import { readKeys } from '../../results/join-by-key.js';
import { readPartTable } from '../../results/part-table.js';
import type { RecordBlock } from '../../source/record-block.js';
import { readWhole } from '../../streams/read-pieces.js';
import { readChunkBlock } from '../chunk/chunk-content.js';
import { openChunkAnswers } from '../merge/chunk-answers.js';
import type { MergeChunksNeeds } from '../merge/merge-needs.js';
import { createColumnFinder } from '../merge/result-columns.js';
import { checkSameRecords, firstPosition, openSourceBlocks, sendableRecordsFrom } from '../read-source.js';

export type FailedRecordsNeeds = MergeChunksNeeds & {
  readonly checkpoint: Pick<Checkpoint, 'lastStretch'>;
};

/** Some failed records of one chunk. */
interface FailedRecords {
  /** A chunk of the source: `downloaded`, or `refused` with a single record. */
  readonly chunk: ChunkRow;
  /** All records of the chunk; valid until the next item is asked for. */
  readonly block: RecordBlock;
  /** Indexes of the failed records in the block; at least one. */
  readonly indexes: readonly number[];
}

/**
 * Gives failed records in the order of the source. The source must be cut to its end and answered.
 * @param after only chunks that end after this record.
 * @throws UntrustedError, OutageError, see `mergeResults`.
 */
export async function* failedRecords(run: FailedRecordsNeeds, after: number): AsyncGenerator<FailedRecords> {
  const columns = await fixedColumns(run);
  const answers = await openChunkAnswers(run, { columns: columns ?? [] });
  const records = openSourceBlocks(run, firstPosition(run.source), sendableRecordsFrom);
  const nextRecords = async (chunk: ChunkRow): Promise<RecordBlock> => {
    await records.skipTo(chunk.firstRecord);
    const block = await records.take(chunk.records);
    checkSameRecords(run, chunk, block);
    return block;
  };
  try {
    for await (const chunk of chunksInOrder(run.checkpoint, run.id)) {
      if (chunk.lastRecord <= after || !mayHaveFailed(chunk)) continue;
      const block = run.keepsChunks ? await readChunkBlock(run, chunk) : await nextRecords(chunk);
      const found = await answers.forChunk(chunk, block);
      const indexes = Array.from({ length: block.count }, (_, index) => index).filter((index) =>
        isFailed(found, index),
      );
      answers.release(found);
      if (indexes.length > 0) yield { chunk, block, indexes };
    }
  } finally {
    await answers.close();
    await records.close();
  }
}

/**
 * The columns that the service adds, for a source that is answered; undefined if no record succeeded.
 */
export async function fixedColumns(run: FailedRecordsNeeds): Promise<readonly string[] | undefined> {
  const merged = await run.checkpoint.lastStretch(run.id);
  return createColumnFinder(run, merged?.lastRecord ?? 0)(true);
}

/** Whether any record of a chunk may have failed. */
function mayHaveFailed({ state, counts }: ChunkRow): boolean {
  if (state !== 'downloaded' && state !== 'refused') return false;
  return counts!.failed > 0;
}

/**
 * Gives the numbers of failed records in the order of the source, a chunk at a time. Records that the service refused
 * are not among them.
 * @param after see `failedRecords`.
 */
export async function* failedNumbers(
  run: FailedRecordsNeeds,
  after: number,
): AsyncGenerator<readonly number[]> {
  const readTo = await lastReadable(run);
  let from = after;
  for await (const chunk of chunksInOrder(run.checkpoint, run.id)) {
    if (chunk.lastRecord <= after || chunk.state === 'refused' || !mayHaveFailed(chunk)) continue;
    const numbers = chunk.lastRecord <= readTo ? await numbersInParts(run, chunk) : undefined;
    if (numbers === undefined) break;
    yield numbers;
    from = chunk.lastRecord;
  }
  // The first chunk whose failed parts do not name its records, and all later chunks, are joined again.
  for await (const { chunk, block, indexes } of failedRecords(run, from)) {
    if (chunk.state !== 'refused') yield indexes.map((index) => block.numbers[index]!);
  }
}

/**
 * The last record up to which failed parts name the failed records: the last merged one. 0 if results may be joined by
 * columns other than the number, or if later answers have replaced some failures.
 */
async function lastReadable(run: FailedRecordsNeeds): Promise<number> {
  const { round } = (await run.checkpoint.run(run.id))!;
  const isByNumber = run.join.method?.by === 'key' && run.config.result.echo === null;
  if (round > 0 || !isByNumber) return 0;
  for await (const _ of eachSearch(run.checkpoint, run.id)) return 0;
  return (await run.checkpoint.lastStretch(run.id))?.lastRecord ?? 0;
}

/** @returns the numbers, ascending; undefined if the failed parts are damaged or have another number of records. */
async function numbersInParts(
  run: FailedRecordsNeeds,
  chunk: ChunkRow,
): Promise<readonly number[] | undefined> {
  const numbers: number[] = [];
  try {
    for (const part of await run.checkpoint.parts(run.id, chunk.number)) {
      if (part.fileStatus !== 'FAILED') continue;
      const table = readPartTable(part, await readWhole(run.files.readPart(chunk.number, part)));
      const field = table.columns.indexOf(run.config.upload.keyColumn!);
      if (field < 0) return undefined;
      for (const number of readKeys(table, field)) numbers.push(number);
    }
  } catch (error) {
    if (error instanceof DamagedPartError) return undefined;
    throw error;
  }
  return numbers.length === chunk.counts!.failed ? numbers.sort((a, b) => a - b) : undefined;
}
