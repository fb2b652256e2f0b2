/**
 * The whole output of a run that a deadline has stopped: what is answered as it is, all the rest UNPROCESSED
 * with the cause DEADLINE. The checkpoint is not changed by it, so that the run goes on later as if this were not.
 */
import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import { eachChunk, isAnswered } from '../../checkpoint/walk-run.js';
import type { RunContext } from '../../run-context.js';
import { firstPosition } from '../read-source.js';
import { type ChunkMergerNeeds, openChunkMerger } from './merge-chunk.js';
import type { MergedChunk } from './merge-results.js';
import { learnColumns, learnLateColumns, type ResultColumnsNeeds } from './result-columns.js';

export type MergePartlyNeeds = ChunkMergerNeeds &
  ResultColumnsNeeds &
  Pick<RunContext, 'signal'> & {
    readonly checkpoint: Pick<Checkpoint, 'nextChunk' | 'chunksIn'>;
  };

/** Gives rows for every record of the source. */
export async function* mergePartly(run: MergePartlyNeeds): AsyncGenerator<Omit<MergedChunk, 'number'>> {
  const columns = await columnsSoFar(run);
  const merger = await openChunkMerger(run, firstPosition(run.source), columns);
  try {
    let chunk = await run.checkpoint.nextChunk(run.id, 0, 0);
    while (chunk !== undefined) {
      const rows = isAnswered(chunk) ? await merger.merge(chunk) : await merger.giveUp(chunk, 'DEADLINE');
      yield { columns, ...rows };
      chunk = await run.checkpoint.nextChunk(run.id, 0, chunk.lastRecord);
    }
    for (;;) {
      const rows = await merger.giveUpNext(recordsAtOnce, 'DEADLINE');
      if (rows === undefined) return;
      yield { columns, ...rows };
    }
  } finally {
    await merger.close();
  }
}

const recordsAtOnce = 10_000;

/** Those that are fixed, declared or known, or else those of any success; without one there are none. */
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
  return (await learnLateColumns(run, row))?.columns ?? [];
}
