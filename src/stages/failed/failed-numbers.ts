/**
 * The numbers of failed records. Those of a merged chunk stand in its failed parts, because merging has proved that each
 * result has its record's number: neither the source nor the other parts are read for them.
 */
import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import { chunksInOrder, eachSearch } from '../../checkpoint/walk-run.js';
import { DamagedPartError } from '../../files/run-files.js';
import { readKeys } from '../../results/join-by-key.js';
import { readPartTable } from '../../results/part-table.js';
import { readWhole } from '../../streams/read-pieces.js';
import type { Refetch } from '../download/repair-parts.js';
import { type FailedRecordsNeeds, failedRecords, mayHaveFailed } from './failed-records.js';

/**
 * Gives the numbers of failed records in the order of the source, a chunk at a time. Records that the service refused
 * are not among them.
 * @param after, refetch see `failedRecords`.
 */
export async function* failedNumbers(
  run: FailedRecordsNeeds,
  after: number,
  refetch?: Refetch,
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
  // From the first chunk on whose failed parts do not name the records, all are joined again.
  for await (const { chunk, block, indexes } of failedRecords(run, from, refetch)) {
    if (chunk.state !== 'refused') yield indexes.map((index) => block.numbers[index]!);
  }
}

/**
 * The last record up to which failed parts name the failed records: the last merged one. There is none if results may be
 * joined by other columns than the number, or if later answers have replaced some failures.
 */
async function lastReadable(run: FailedRecordsNeeds): Promise<number> {
  const { round } = (await run.checkpoint.run(run.id))!;
  const isByNumber = run.join.method?.by === 'key' && run.config.result.echo === null;
  if (round > 0 || !isByNumber) return 0;
  for await (const _ of eachSearch(run.checkpoint, run.id)) return 0;
  return (await run.checkpoint.lastStretch(run.id))?.lastRecord ?? 0;
}

/** @returns the numbers, ascending; undefined if the failed parts are damaged or do not have as many. */
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
