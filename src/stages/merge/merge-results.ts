/**
 * Fifth stage, and the only one that keeps an order: joins each chunk's results to its records and gives the
 * rows of the output, chunk after chunk in the order of the source. Chunks that come early wait on the disk.
 */
import type { Checkpoint, ChunkCounts, ChunkRow } from '../../checkpoint/checkpoint.js';
import { isAnswered } from '../../checkpoint/walk-run.js';
import { OutageError, type UntrustedError } from '../../errors.js';
import type { RunContext } from '../../run-context.js';
import { abortOnEarlyReturn } from '../../streams/abort-on-early-return.js';
import { abortable } from '../../streams/abortable.js';
import type { Refetch } from '../download/with-healing.js';
import { positionAfter } from '../read-source.js';
import { type JudgeArrivedNeeds, judgeArrived } from './judge-arrived.js';
import { type ChunkMerger, type ChunkMergerNeeds, openChunkMerger } from './merge-chunk.js';
import { createResultColumns, type ResultColumnsNeeds } from './result-columns.js';

export type MergeResultsNeeds = ChunkMergerNeeds &
  ResultColumnsNeeds &
  JudgeArrivedNeeds &
  Pick<RunContext, 'controller' | 'setbacks' | 'signal'> & {
    readonly checkpoint: Pick<Checkpoint, 'nextChunk' | 'lastMerged'>;
  };

/** The rows of one whole chunk. */
export interface MergedChunk {
  readonly number: number;
  /** The stages that write them use their memory again afterwards. */
  readonly bytes: Buffer;
  readonly counts: ChunkCounts;
  /** Columns that the service adds, fixed for the run: what the output's header is made of. */
  readonly columns: readonly string[];
}

/**
 * Gives whole chunks, beginning behind the last one that is merged already. Ends without the rest where a
 * chunk is missing, or damaged while the service is out; whether the run is complete then is for the next stage
 * to say.
 * @param refetch fetches a chunk's parts anew; without it a damaged part or a failed proof is final.
 * @throws UntrustedError when results do not match after they were fetched once more; where it is the first chunk's,
 *   after all that comes has come.
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

    let held = false;
    /** What must be fetched anew and cannot be had holds back the rows behind it; the other chunks go on. */
    const unlessOutage = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof OutageError)) throw error;
        run.setbacks.first ??= error;
        held = true;
        return undefined;
      }
    };
    let refusal: UntrustedError | undefined;
    const mergeReady = async function* (allSettled: boolean): AsyncGenerator<MergedChunk> {
      if (!held) refusal = await unlessOutage(() => judgeArrived(run, refetch));
      // Nothing is written then; what is open at the service still comes, for it is paid for.
      if (refusal !== undefined) held = true;
      const added = held ? undefined : await unlessOutage(() => columns.settle(allSettled));
      if (added === undefined) return;
      merger ??= await openChunkMerger(run, positionAfter(run.source, last), added, refetch);
      const { merge } = merger;
      for (;;) {
        const chunk = await run.checkpoint.nextChunk(run.id, 0, merged);
        if (chunk === undefined || !isAnswered(chunk)) return;
        const rows = await unlessOutage(() => merge(chunk));
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
