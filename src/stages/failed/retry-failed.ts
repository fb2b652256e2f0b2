/**
 * A round of failed records. Its first stage sends them again, cut into chunks by the same limits as the source;
 * `closeRound` ends it when all its chunks are answered.
 */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { chunksInOrder, isAnswered, unfinishedChunks } from '../../checkpoint/walk-run.js';
import { countOf } from '../../quantities.js';
import type { RunContext } from '../../run-context.js';
import { pickRecords } from '../../source/read-records.js';
import { type SaveChunkNeeds, saveChunk } from '../chunk/chunk-content.js';
import { createUploadLayout, cutChunks } from '../chunk/cut-chunks.js';
import { incompleteError } from '../publish/check-complete.js';
import { positionAfter, recordsFrom, watchFiles } from '../read-source.js';
import { heldRecords } from '../submit/unreadable-replies.js';
import { type FailedRecordsNeeds, failedNumbers } from './failed-records.js';

type RetryFailedNeeds = FailedRecordsNeeds &
  SaveChunkNeeds &
  Pick<RunContext, 'uploads'> & {
    readonly checkpoint: Pick<Checkpoint, 'chunksIn' | 'lastCut' | 'pickedRecords' | 'attempts' | 'tally'>;
  };

/**
 * Gives the round's chunks that still need the service. The same answers always give the same chunks, so a resume
 * continues after the last chunk that was cut. Two kinds of records are not sent again: records that the service
 * refused, and those of `heldRecords`.
 * @param round the first open round; it takes the records that are FAILED after the closed rounds.
 * @throws SourceError when the source has changed since it was checked; the errors of `failedRecords`.
 */
export function retryFailed(run: RetryFailedNeeds, round: number): () => AsyncGenerator<ChunkRow> {
  return async function* () {
    yield* unfinishedChunks(run);
    if (run.uploads.stopped) return;
    while (!(yield* cutRetries(run, round)));
  };
}

/** Whether every record that belongs to the round is in one of its chunks. */
export async function isRoundCut(run: RetryFailedNeeds, round: number): Promise<boolean> {
  const last = await run.checkpoint.lastCut(run.id, round);
  const held = await heldRecords(run.checkpoint, run.id, run.config.ambiguous);
  for await (const failed of failedNumbers(run, last?.lastRecord ?? 0)) {
    if (numbersToSend(failed, last, held).length > 0) return false;
  }
  return true;
}

/** @returns true when all are cut, or if uploads are stopped; false if the source was touched while it was read. */
async function* cutRetries(run: RetryFailedNeeds, round: number): AsyncGenerator<ChunkRow, boolean> {
  const last = await run.checkpoint.lastCut(run.id, round);
  const held = await heldRecords(run.checkpoint, run.id, run.config.ambiguous);
  const isTouched = watchFiles(run);
  const picked: number[] = [];
  const toSend = async function* () {
    for await (const failed of failedNumbers(run, last?.lastRecord ?? 0)) {
      const some = numbersToSend(failed, last, held);
      for (const number of some) picked.push(number);
      yield some;
    }
  };
  const records = pickRecords(recordsFrom(run, positionAfter(run.source, last)), toSend());
  const { maxRecords, maxBytes } = run.config.chunks;
  const layout = createUploadLayout(run.source, run.config.upload);
  let isFirst = last === undefined;
  for await (const cut of cutChunks(records, layout, { maxRecords, maxBytes })) {
    run.signal.throwIfAborted();
    if (run.uploads.stopped) return true;
    if (isFirst) run.logger.info({ run: run.id, round }, `round ${round}: the failed records are sent again`);
    isFirst = false;
    const numbers = picked.splice(0, cut.chunk.records);
    const saved = await saveChunk(run, cut, { round, numbers }, isTouched);
    if (saved === undefined) return false;
    yield saved;
  }
  return true;
}

/**
 * The failed records that are not in a chunk of the round yet, and may be sent again.
 * @param last the last chunk of the round so far.
 * @param held records that are not sent again.
 */
function numbersToSend(
  failed: readonly number[],
  last: ChunkRow | undefined,
  held: ReadonlySet<number>,
): readonly number[] {
  const after = last?.lastRecord ?? 0;
  return failed.filter((number) => number > after && !held.has(number));
}

type CloseRoundNeeds = Pick<RunContext, 'id' | 'deferred' | 'uploads' | 'logger' | 'at'> & {
  readonly checkpoint: Pick<
    Checkpoint,
    'run' | 'nextChunk' | 'tally' | 'chunksIn' | 'attempts' | 'doubtsInRow' | 'recordRoundClosed'
  >;
};

/**
 * Closes a round: its answers count from now on, and the output is written again.
 * @param round the first open round; all its records are cut, unless uploads were stopped.
 * @returns false if the round has no chunk; it then stays open.
 * @throws the error that stopped a chunk, or TroubleError: the run goes on later.
 */
export async function closeRound(run: CloseRoundNeeds, round: number): Promise<boolean> {
  const sum = { chunks: 0, records: 0, successful: 0 };
  let isDone = !run.uploads.stopped;
  for await (const chunk of chunksInOrder(run.checkpoint, run.id, round)) {
    isDone &&= isAnswered(chunk);
    sum.chunks += 1;
    sum.records += chunk.records;
    sum.successful += chunk.state === 'downloaded' ? chunk.counts!.successful : 0;
  }
  if (!isDone) throw await incompleteError(run);
  if (sum.chunks === 0) return false;
  run.at('after-round-answered-before-settled');
  await run.checkpoint.recordRoundClosed(run.id, round);
  run.at('after-settled-before-merge');
  run.logger.info(
    { run: run.id, round, ...sum },
    `round ${round}: ${countOf(sum.records, 'failed record')} sent again, ${sum.successful} successful now`,
  );
  return true;
}
