/**
 * Fifth stage: joins the results of each chunk to its records and gives the rows of the output. Only this stage
 * restores the order of the source; chunks that come early wait on the disk.
 */
import type { Checkpoint, ChunkCounts, ChunkRow } from '../../checkpoint/checkpoint.js';
import { chunksInOrder, isAnswered } from '../../checkpoint/walk-run.js';
import { OutageError, type UntrustedError } from '../../errors.js';
import type { RunContext } from '../../run-context.js';
import { abortable, abortOnEarlyReturn } from '../../streams/abortable.js';
import type { Refetch } from '../download/repair-parts.js';
import { positionAfter } from '../read-source.js';
import { type JudgeFirstChunksNeeds, judgeFirstChunks } from './judge-first-chunks.js';
import { type ChunkMerger, openChunkMerger } from './merge-chunk.js';
import type { MergeChunksNeeds } from './merge-needs.js';
import { createResultColumns } from './result-columns.js';

export type MergeResultsNeeds = MergeChunksNeeds &
  JudgeFirstChunksNeeds &
  Pick<RunContext, 'controller'> & {
    readonly checkpoint: Pick<Checkpoint, 'lastMerged'>;
  };

/** The rows of one whole chunk. */
export interface MergedChunk {
  readonly number: number;
  /** The stage that writes the rows returns this buffer to the pool. */
  readonly bytes: Buffer;
  readonly counts: ChunkCounts;
  /** The columns that the service adds, fixed for the run; the header of the output names them. */
  readonly columns: readonly string[];
}

/**
 * Gives whole chunks, beginning with the first one that is not merged yet. Ends early at a chunk that is missing, or
 * that must be fetched again while the service is out. The next stage checks whether the run is complete.
 * @param refetch fetches a chunk's parts again; without it a damaged part or a failed proof is final.
 * @throws UntrustedError when results do not match even after they were fetched once more. If one of the first chunks
 *   does not prove the join, the error comes at the end of the input, so that open folios are still collected.
 */
export function mergeResults(
  run: MergeResultsNeeds,
  refetch?: Refetch,
): (chunks: AsyncIterable<ChunkRow>) => AsyncGenerator<MergedChunk> {
  const mergeAll = async function* (chunks: AsyncIterable<ChunkRow>) {
    const last = await run.checkpoint.lastMerged(run.id);
    let merged = last?.lastRecord ?? 0;
    const columns = createResultColumns(run, merged, refetch);
    let merger: ChunkMerger | undefined;
    let refusal: UntrustedError | undefined;
    /** Once set, no more rows are given. The input is still read to its end, so that other chunks go on. */
    let isBlocked = false;

    const deferOutage = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof OutageError)) throw error;
        run.deferred.error ??= error;
        isBlocked = true;
        return undefined;
      }
    };

    const mergeReady = async function* (isEnd: boolean): AsyncGenerator<MergedChunk> {
      if (!isBlocked) refusal = await deferOutage(() => judgeFirstChunks(run, refetch));
      if (refusal !== undefined) isBlocked = true;
      const added = isBlocked ? undefined : await deferOutage(() => columns.find(isEnd));
      if (added === undefined) return;
      merger ??= await openChunkMerger(run, positionAfter(run.source, last), added, refetch);
      const { merge } = merger;
      for await (const chunk of chunksInOrder(run.checkpoint, run.id, 0, merged)) {
        if (!isAnswered(chunk)) return;
        const rows = await deferOutage(() => merge(chunk));
        if (rows === undefined) return;
        yield { number: chunk.number, columns: added, ...rows };
        merged = chunk.lastRecord;
      }
    };

    try {
      yield* mergeReady(false);
      for await (const _ of abortable(chunks, run.signal)) yield* mergeReady(false);
      yield* mergeReady(true);
      if (refusal !== undefined) throw refusal;
    } finally {
      await merger?.close();
    }
  };
  return (chunks) => abortOnEarlyReturn(mergeAll(chunks), run.controller);
}
