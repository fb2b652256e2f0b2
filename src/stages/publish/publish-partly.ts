/** Publishes the partial output at a deadline. It has its own work file, and the run stays open. */
import type { Checkpoint, Publication } from '../../checkpoint/checkpoint.js';
import { openWorkFile, type WorkFile, workPathOf } from '../../files/work-file.js';
import { createOutputLayout, outputHeader } from '../../results/output-layout.js';
import type { MergedChunk } from '../merge/merge-results.js';
import { checkOneService } from '../submit/check-replies.js';
import {
  type CompleteWorkFile,
  commitPublication,
  type PutInPlaceNeeds,
  putInPlace,
} from './put-in-place.js';

export type PublishPartlyNeeds = PutInPlaceNeeds & {
  readonly checkpoint: Pick<Checkpoint, 'replyKinds'>;
};

/**
 * @throws UntrustedError when the counts of the rows do not balance, or more than one service has answered;
 *   SourceError when the source changed.
 */
export function publishPartly(
  run: PublishPartlyNeeds,
): (chunks: AsyncIterable<Omit<MergedChunk, 'number'>>) => Promise<Publication> {
  return async (chunks) => {
    await checkOneService(run.checkpoint, run.id);
    const path = workPathOf(run.config.output.path, run.id, true);
    const file = await openWorkFile(path, { written: undefined }, async () => 0);
    try {
      const { merged, columns } = await writeRows(run, file, chunks);
      const publication = await commitPublication(run, { path, merged, columns, partial: true });
      await putInPlace(run, publication, true);
      return publication;
    } finally {
      await file.close();
    }
  };
}

async function writeRows(
  run: Pick<PublishPartlyNeeds, 'source' | 'config'>,
  file: WorkFile,
  chunks: AsyncIterable<Omit<MergedChunk, 'number'>>,
): Promise<Pick<CompleteWorkFile, 'merged' | 'columns'>> {
  const layout = createOutputLayout(run.source, run.config.output);
  const sum = { successful: 0, failed: 0, unprocessed: 0, indistinct: 0 };
  let header: readonly string[] | undefined;
  for await (const { bytes, counts, columns } of chunks) {
    const head = header === undefined ? [outputHeader(layout, columns)] : [];
    header = columns;
    await file.append(...head, bytes);
    for (const key of ['successful', 'failed', 'unprocessed', 'indistinct'] as const) sum[key] += counts[key];
  }
  return { merged: sum, columns: header ?? [] };
}
