/** Publishes the partial output at a deadline. It has its own work file, and the run stays open. */
import type { Checkpoint, Publication } from '../../checkpoint/checkpoint.js';
import { createReasonCounter } from '../../failure-reasons.js';
import { openWorkFile, type WorkFile, workPathOf } from '../../files/work-file.js';
import { createOutputLayout, outputHeader } from '../../results/output-layout.js';
import { addCounts, noRows } from '../../results/row-counts.js';
import type { MergedStretch } from '../merge/merge-stretch.js';
import { checkOneService } from '../submit/check-replies.js';
import {
  type CompleteWorkFile,
  commitPublication,
  type PutInPlaceNeeds,
  putInPlace,
} from './put-in-place.js';
import { warnAddedColumns, warnReusedColumns } from './warn-columns.js';

type PublishPartlyNeeds = PutInPlaceNeeds & {
  readonly checkpoint: Pick<Checkpoint, 'replyKinds'>;
};

/**
 * @throws UntrustedError when the counts of the rows do not balance, or more than one service has answered;
 *   SourceError when the source changed.
 */
export function publishPartly(
  run: PublishPartlyNeeds,
): (stretches: AsyncIterable<MergedStretch>) => Promise<Publication> {
  return async (stretches) => {
    await checkOneService(run.checkpoint, run.id);
    const path = workPathOf(run.config.output.path, run.id, run.config.stateDir, true);
    const file = await openWorkFile(path, { written: undefined }, async () => 0);
    try {
      const { merged, columns, reasons } = await writeRows(run, file, stretches);
      await warnReusedColumns(run, columns);
      const publication = await commitPublication(run, { path, merged, columns, reasons, partial: true });
      await putInPlace(run, publication, true);
      return publication;
    } finally {
      await file.close();
    }
  };
}

async function writeRows(
  run: Pick<PublishPartlyNeeds, 'id' | 'source' | 'config' | 'logger'>,
  file: WorkFile,
  stretches: AsyncIterable<MergedStretch>,
): Promise<Required<Pick<CompleteWorkFile, 'merged' | 'columns' | 'reasons'>>> {
  const layout = createOutputLayout(run.source, run.config.output);
  let merged = noRows;
  let counter = createReasonCounter();
  let header: readonly string[] | undefined;
  for await (const { bytes, counts, columns, reasons = [] } of stretches) {
    if (header !== undefined && header !== columns) {
      warnAddedColumns(run, header, columns);
      await file.empty();
      merged = noRows;
      counter = createReasonCounter();
    }
    const head = header === columns ? [] : [outputHeader(layout, columns)];
    header = columns;
    await file.append(...head, bytes);
    merged = addCounts(merged, counts);
    for (const reason of reasons) counter.add(reason);
  }
  return { merged, columns: header ?? [], reasons: counter.top() };
}
