/** First stage of a round: the records that failed go out again, cut into chunks as the source's own were. */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import type { RunContext } from '../../run-context.js';
import { pickRecords } from '../../source/read-records.js';
import { begunChunks, type KeepChunkNeeds, keepChunk } from '../chunk/begun-chunks.js';
import { createUploadLayout, cutChunks } from '../chunk/cut-chunks.js';
import type { Refetch } from '../download/with-healing.js';
import { positionAfter, recordsFrom } from '../read-source.js';
import { type UnreadRecordsNeeds, unreadRecords } from '../submit/unreadable-replies.js';
import { type FailedRecords, type FailedRecordsNeeds, failedRecords } from './failed-records.js';

export type RetryFailedNeeds = FailedRecordsNeeds &
  KeepChunkNeeds &
  UnreadRecordsNeeds &
  Pick<RunContext, 'uploads'> & { readonly checkpoint: Pick<Checkpoint, 'chunksIn' | 'lastCut'> };

/**
 * The round's chunks that still need the service. The same answers always give the same chunks, so that a resume
 * goes on behind the last one that was cut. Records that the service refused are not sent again, nor
 * those of an earlier round whose reply could not be read.
 * @param round the first unsettled one; its records are those that are FAILED in the settled ones.
 * @param refetch fetches a chunk's parts anew; without it a damaged part is final.
 * @throws SourceError when the source is no longer the one that was checked; as `failedRecords` does.
 */
export function retryFailed(
  run: RetryFailedNeeds,
  round: number,
  refetch?: Refetch,
): () => AsyncGenerator<ChunkRow> {
  return async function* () {
    yield* begunChunks(run);
    if (!run.uploads.stopped) yield* cutRetries(run, round, refetch);
  };
}

/** Whether every record that belongs to the round is in one of its chunks. */
export async function isRoundCut(run: RetryFailedNeeds, round: number, refetch?: Refetch): Promise<boolean> {
  const last = await run.checkpoint.lastCut(run.id, round);
  const unread = await unreadRecords(run);
  for await (const failed of failedRecords(run, last?.lastRecord ?? 0, refetch)) {
    if (numbersToSend(failed, last, unread).length > 0) return false;
  }
  return true;
}

async function* cutRetries(
  run: RetryFailedNeeds,
  round: number,
  refetch: Refetch | undefined,
): AsyncGenerator<ChunkRow> {
  const last = await run.checkpoint.lastCut(run.id, round);
  const unread = await unreadRecords(run);
  const picked: number[] = [];
  const numbers = async function* () {
    for await (const failed of failedRecords(run, last?.lastRecord ?? 0, refetch)) {
      const some = numbersToSend(failed, last, unread);
      for (const number of some) picked.push(number);
      yield some;
    }
  };
  const records = pickRecords(recordsFrom(run, positionAfter(run.source, last)), numbers());
  const { maxRecords, maxBytes } = run.config.chunks;
  const layout = createUploadLayout(run.source, run.config.upload);
  let isFirst = last === undefined;
  for await (const cut of cutChunks(records, layout, { maxRecords, maxBytes })) {
    run.signal.throwIfAborted();
    if (run.uploads.stopped) return;
    if (isFirst) run.logger.info({ run: run.id, round }, `round ${round}: what has failed is sent again`);
    isFirst = false;
    yield await keepChunk(run, cut, { round, numbers: picked.splice(0, cut.chunk.records) });
  }
}

/**
 * @param last the round's last chunk so far.
 * @param unread records that are not sent again.
 */
function numbersToSend(
  { chunk, block, places }: FailedRecords,
  last: ChunkRow | undefined,
  unread: ReadonlySet<number>,
): readonly number[] {
  if (chunk.state === 'refused') return [];
  const after = last?.lastRecord ?? 0;
  return places
    .map((place) => block.numbers[place]!)
    .filter((number) => number > after && !unread.has(number));
}
