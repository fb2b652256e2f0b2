/** Last stage: appends merged chunks to the work file, and puts it in place once every chunk is in it. */
import type { Checkpoint, Publication } from '../checkpoint/checkpoint.js';
import { createOutputLayout, outputHeader } from '../results/output-layout.js';
import type { RunContext } from '../run-context.js';
import { incompleteError } from './incomplete-error.js';
import type { MergedChunk } from './merge-results.js';
import { type PutInPlaceNeeds, preparePublication, putInPlace } from './put-in-place.js';
import { openWorkFile, type WorkFileNeeds } from './work-file.js';

export type PublishOutputNeeds = Pick<
  RunContext,
  'id' | 'source' | 'config' | 'setbacks' | 'clock' | 'signal' | 'at'
> &
  WorkFileNeeds &
  PutInPlaceNeeds & {
    readonly checkpoint: Pick<Checkpoint, 'recordMerged' | 'lastCut' | 'chunksIn' | 'uploads'>;
  };

/**
 * @returns what was published.
 * @throws TroubleError when chunks are missing: the run goes on later.
 */
export function publishOutput(
  run: PublishOutputNeeds,
): (chunks: AsyncIterable<MergedChunk>) => Promise<Publication> {
  return async (chunks) => {
    await appendChunks(run, chunks);
    const row = (await run.checkpoint.run(run.id))!;
    const merged = await run.checkpoint.lastMerged(run.id);
    const cut = await run.checkpoint.lastCut(run.id, 0);
    if (row.chunks === null || merged?.number !== cut?.number) {
      const tally = await run.checkpoint.tally(run.id);
      throw run.setbacks.first ?? (await incompleteError(run, row.chunks, tally));
    }
    run.at('after-last-merge-before-publishing');
    const publication = await preparePublication(run);
    await putInPlace(run, publication);
    return publication;
  };
}

async function appendChunks(run: PublishOutputNeeds, chunks: AsyncIterable<MergedChunk>): Promise<void> {
  const layout = createOutputLayout(run.source, run.config.output);
  const work = await openWorkFile(run);
  try {
    for await (const { number, bytes, counts, columns } of chunks) {
      if (work.length === 0) await work.append(outputHeader(layout, columns), bytes);
      else await work.append(bytes);
      run.at('after-work-write-before-commit');
      await run.checkpoint.recordMerged(run.id, number, counts, work.length);
    }
  } finally {
    await work.close();
  }
}
