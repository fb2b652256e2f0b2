/**
 * Gives the complete output of a run that a deadline has stopped: answered chunks as usual, all other records
 * UNPROCESSED with the cause DEADLINE. Does not change the checkpoint, so the run can go on later.
 */
import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import { chunksInOrder, eachChunk, isAnswered } from '../../checkpoint/walk-run.js';
import { firstPosition } from '../read-source.js';
import { openChunkMerger } from './merge-chunk.js';
import type { MergeChunksNeeds } from './merge-needs.js';
import type { MergedChunk } from './merge-results.js';
import { learnColumns, learnRetriedColumns } from './result-columns.js';

export type MergePartlyNeeds = MergeChunksNeeds & {
  readonly checkpoint: Pick<Checkpoint, 'chunksIn'>;
};

/** Gives rows for every record of the source. */
export async function* mergePartly(run: MergePartlyNeeds): AsyncGenerator<Omit<MergedChunk, 'number'>> {
  const columns = await columnsSoFar(run);
  const merger = await openChunkMerger(run, firstPosition(run.source), columns);
  try {
    for await (const chunk of chunksInOrder(run.checkpoint, run.id)) {
      const rows = isAnswered(chunk)
        ? await merger.merge(chunk)
        : await merger.unprocessed(chunk, 'DEADLINE');
      yield { columns, ...rows };
    }
    for (;;) {
      const rows = await merger.unprocessedNext(recordsAtOnce, 'DEADLINE');
      if (rows === undefined) return;
      yield { columns, ...rows };
    }
  } finally {
    await merger.close();
  }
}

const recordsAtOnce = 10_000;

/**
 * The columns that the run has fixed, or else declared or known columns, or else those of any success; may be empty.
 */
async function columnsSoFar(run: MergePartlyNeeds): Promise<readonly string[]> {
  const row = (await run.checkpoint.run(run.id))!;
  if (row.columns !== null && row.columns.length > 0) return row.columns;
  const declared = run.config.result.columns;
  if (declared.length > 0) return declared;
  const known = await run.checkpoint.knownColumns(row.pipeline, row.service);
  if (known !== undefined) return known;
  for await (const chunk of eachChunk(run.checkpoint, run.id, ['downloaded'])) {
    if (chunk.round > 0 || chunk.counts!.successful === 0) continue;
    const learned = await learnColumns(run, chunk);
    if (learned !== undefined) return learned;
  }
  return (await learnRetriedColumns(run, row))?.columns ?? [];
}
