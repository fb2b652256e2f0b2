/**
 * Gives the complete output of a run that a deadline has stopped: answered chunks as usual, all other records
 * UNPROCESSED with the cause DEADLINE. Does not change the checkpoint, so the run can go on later.
 */
import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import { eachChunk } from '../../checkpoint/walk-run.js';
import { recordsToSend } from '../../report/origins.js';
import { firstPosition } from '../read-source.js';
import type { MergeChunksNeeds } from './merge-needs.js';
import { type MergedStretch, openStretchMerger } from './merge-stretch.js';
import { expectedColumns, learnColumns, learnRetriedColumns } from './result-columns.js';

type MergePartlyNeeds = MergeChunksNeeds & {
  readonly checkpoint: Pick<Checkpoint, 'chunksIn' | 'tally'>;
};

/** Gives rows for every record of the source. */
export async function* mergePartly(given: MergePartlyNeeds): AsyncGenerator<MergedStretch> {
  // There is no time to fetch parts again.
  const run = { ...given, refetch: undefined };
  const columns = await columnsSoFar(run);
  const merger = openStretchMerger(run, firstPosition(run.source), columns, 'DEADLINE');
  try {
    for (;;) {
      const stretch = await merger.next(Number.MAX_SAFE_INTEGER);
      if (stretch === undefined) return;
      yield stretch;
    }
  } finally {
    await merger.close();
  }
}

/** Whether some record has an answer, sent or reused. True as well when there is nothing to send. */
export async function hasAnswers({
  id,
  checkpoint,
}: Pick<MergePartlyNeeds, 'id' | 'checkpoint'>): Promise<boolean> {
  const row = (await checkpoint.run(id))!;
  const { records } = await checkpoint.tally(id);
  const { successful, failed } = row.choice?.reused ?? { successful: 0, failed: 0 };
  return records.downloaded + records.refused + successful + failed > 0 || recordsToSend(row) === 0;
}

/**
 * The columns that the run has fixed; else the declared or known ones; else those of any success; else those of the
 * reused answers. May be empty.
 */
async function columnsSoFar(run: MergePartlyNeeds): Promise<readonly string[]> {
  const row = (await run.checkpoint.run(run.id))!;
  if (row.columns !== null && row.columns.length > 0) return row.columns;
  const expected = await expectedColumns(run, row);
  if (expected.length > 0) return expected;
  for await (const chunk of eachChunk(run.checkpoint, run.id, ['downloaded'])) {
    if (chunk.round > 0 || chunk.counts!.successful === 0) continue;
    const learned = await learnColumns(run, chunk);
    if (learned !== undefined) return learned;
  }
  return (await learnRetriedColumns(run, row))?.columns ?? row.choice?.columns ?? [];
}
