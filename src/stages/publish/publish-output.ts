/** Last stages: one appends merged chunks to the work file, the other also puts it in place once it is whole. */
import type { Checkpoint, Publication } from '../../checkpoint/checkpoint.js';
import { createOutputLayout, outputHeader } from '../../results/output-layout.js';
import type { RunContext } from '../../run-context.js';
import { giveBack } from '../../streams/buffer-pool.js';
import type { MergedChunk } from '../merge/merge-results.js';
import { checkOneService } from '../submit/check-replies.js';
import { checkAllMerged } from './incomplete-error.js';
import { type PutInPlaceNeeds, preparePublication, putInPlace } from './put-in-place.js';
import { openMergedWork, type WorkFileNeeds } from './work-file.js';

export type AppendMergedNeeds = WorkFileNeeds &
  Pick<RunContext, 'source'> & { readonly checkpoint: Pick<Checkpoint, 'recordMerged'> };

export type PublishOutputNeeds = AppendMergedNeeds &
  PutInPlaceNeeds &
  Pick<RunContext, 'setbacks'> & {
    readonly checkpoint: Pick<Checkpoint, 'lastCut' | 'chunksIn' | 'attempts' | 'doubtsInRow' | 'replyKinds'>;
  };

/** Appends what comes; whether it is all is not asked. */
export function appendMerged(run: AppendMergedNeeds): (chunks: AsyncIterable<MergedChunk>) => Promise<void> {
  return (chunks) => appendChunks(run, chunks);
}

/**
 * @returns what was published.
 * @throws TroubleError when chunks are missing: the run goes on later; UntrustedError when more than one service
 *   has answered.
 */
export function publishOutput(
  run: PublishOutputNeeds,
): (chunks: AsyncIterable<MergedChunk>) => Promise<Publication> {
  return async (chunks) => {
    await appendChunks(run, chunks);
    await checkAllMerged(run);
    await checkOneService(run.checkpoint, run.id);
    run.at('after-last-merge-before-publishing');
    const publication = await preparePublication(run);
    await putInPlace(run, publication, true);
    return publication;
  };
}

async function appendChunks(run: AppendMergedNeeds, chunks: AsyncIterable<MergedChunk>): Promise<void> {
  const layout = createOutputLayout(run.source, run.config.output);
  const work = await openMergedWork(run);
  try {
    for await (const { number, bytes, counts, columns } of readAhead(chunks)) {
      const head = work.length === 0 ? [outputHeader(layout, columns)] : [];
      const sha256 = await work.append(...head, bytes);
      giveBack(bytes);
      run.at('after-work-write-before-commit');
      await run.checkpoint.recordMerged(run.id, number, counts, work.length, sha256);
      run.at('after-merged-before-next');
    }
  } finally {
    await work.close();
  }
}

// Lets a stage work on its next item while the one after it is at work on the last.

/**
 * The same items in the same order; each is asked for as soon as the one before it is taken. Items must not be
 * changed by their source later.
 */
async function* readAhead<T>(source: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  const items = source[Symbol.asyncIterator]();
  const ask = (): Promise<IteratorResult<T>> => {
    const asked = items.next();
    // Avoids an unhandled rejection when the consumer stops early.
    asked.catch(() => undefined);
    return asked;
  };
  let isAtEnd = false;
  try {
    for (let ahead = ask(); ; ) {
      const item = await ahead;
      isAtEnd = item.done === true;
      if (item.done) return;
      ahead = ask();
      yield item.value;
    }
  } finally {
    if (!isAtEnd) await items.return?.();
  }
}
