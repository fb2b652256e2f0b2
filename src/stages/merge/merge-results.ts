/**
 * Fifth stage: joins the results of chunks to their records and gives the rows of the output, stretch by stretch. Only
 * this stage restores the order of the source; chunks that come early wait on the disk.
 */
import { checkCall } from '../../check-call.js';
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { chunksInOrder, isAnswered } from '../../checkpoint/walk-run.js';
import { OutageError, SourceError, type UntrustedError } from '../../errors.js';
import { createReasonCounter } from '../../failure-reasons.js';
import { addCounts, noRows } from '../../results/row-counts.js';
import type { RunContext } from '../../run-context.js';
import { abortable, abortOnEarlyReturn } from '../../streams/abortable.js';
import { positionAfter } from '../read-source.js';
import { type JudgeFirstChunksNeeds, judgeFirstChunks } from './judge-first-chunks.js';
import type { MergeChunksNeeds } from './merge-needs.js';
import { type MergedStretch, openStretchMerger, type StretchMerger } from './merge-stretch.js';
import { createColumnFinder } from './result-columns.js';
import { lastMerged } from './whole-chunks.js';

/** The options of `mergeResults`. */
export interface MergeResultsOptions {
  /** Whether to begin at the first record, for rows that do not go into the work file. Default: `false`. */
  readonly fromFirst?: boolean | undefined;
}

type MergeResultsNeeds = MergeChunksNeeds &
  JudgeFirstChunksNeeds &
  Pick<RunContext, 'controller' | 'given'> & {
    readonly checkpoint: Pick<Checkpoint, 'lastStretch'>;
  };

/**
 * Gives whole stretches, beginning with the first one that is not in the work file yet. Ends early at a chunk that is
 * missing, that must be fetched again during an outage, or whose records have changed in the source. The next stage
 * checks whether the run is complete.
 * @throws UntrustedError when results do not match even after they were fetched once more. If one of the first chunks
 *   does not prove the join, the error comes at the end of the input, so that open folios are still collected.
 */
export function mergeResults(
  run: MergeResultsNeeds,
  options: MergeResultsOptions = {},
): (chunks: AsyncIterable<ChunkRow>) => AsyncGenerator<MergedStretch> {
  checkCall('mergeResults', { opened: run, options });
  const { fromFirst = false } = options;
  const mergeAll = async function* (chunks: AsyncIterable<ChunkRow>) {
    const last = fromFirst ? undefined : await lastMerged(run);
    const merged = last?.lastRecord ?? 0;
    run.given.rows = merged === 0 ? noneGiven : undefined;
    const findColumns = createColumnFinder(run, merged);
    const answeredUpTo = createAnsweredWalk(run, merged);
    let merger: StretchMerger | undefined;
    let refusal: UntrustedError | undefined;
    /** Once set, no more rows are given. The input is still read to its end, so that other chunks go on. */
    let isBlocked = false;

    /** After an outage, or while the source has changed, what is open at the service is still collected. */
    const deferTrouble = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof OutageError || error instanceof SourceError)) throw error;
        run.deferred.error ??= error;
        isBlocked = true;
        return undefined;
      }
    };

    const mergeReady = async function* (isEnd: boolean): AsyncGenerator<MergedStretch> {
      if (!isBlocked) refusal = await deferTrouble(() => judgeFirstChunks(run));
      if (refusal !== undefined) isBlocked = true;
      const added = isBlocked ? undefined : await deferTrouble(() => findColumns(isEnd));
      if (added === undefined) return;
      // A merger that is opened would merge doubles from the first record on once more.
      if (merged === run.source.records) return;
      merger ??= openStretchMerger(run, positionAfter(run.source, last), added);
      const { next } = merger;
      const upTo = await answeredUpTo();
      for (;;) {
        const stretch = await deferTrouble(() => next(upTo));
        if (stretch === undefined) return;
        yield stretch;
        countGiven(run, stretch);
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

/** Counts from zero again when the service has added columns, because the stretches then begin again. */
function countGiven(
  { given }: Pick<RunContext, 'given'>,
  { counts, columns, reasons }: Pick<MergedStretch, 'counts' | 'columns' | 'reasons'>,
): void {
  if (given.rows === undefined) return;
  const before = given.rows.columns.length === columns.length ? given.rows : noneGiven;
  const counter = before.reasons ?? (reasons && createReasonCounter());
  for (const reason of reasons ?? []) counter!.add(reason);
  given.rows = { counts: addCounts(before.counts, counts), columns, reasons: counter };
}

/** The counts of a run that has given no row yet. */
export const noneGiven: NonNullable<RunContext['given']['rows']> = {
  counts: noRows,
  columns: [],
  reasons: undefined,
};

/** Finds the last record up to which all chunks are answered. */
function createAnsweredWalk(run: Pick<MergeResultsNeeds, 'id' | 'checkpoint'>, merged: number) {
  let answered = merged;
  return async (): Promise<number> => {
    for await (const chunk of chunksInOrder(run.checkpoint, run.id, 0, answered)) {
      if (!isAnswered(chunk)) return chunk.firstRecord - 1;
      answered = chunk.lastRecord;
    }
    const row = (await run.checkpoint.run(run.id))!;
    return row.chunks === null ? answered : Number.MAX_SAFE_INTEGER;
  };
}
