/** Warnings about columns of the service that not every row has. */
import type { CheckpointReader } from '../../checkpoint/checkpoint.js';
import { countOf } from '../../quantities.js';
import { columnsMissing } from '../../reuse/columns-missing.js';
import type { RunContext } from '../../run-context.js';
import { showNames, showText } from '../../text.js';

type Warned = Pick<RunContext, 'id' | 'logger'>;

/**
 * Names the columns that the service has added during a run.
 * @param before the columns of the run.
 * @param all these columns and the new ones.
 */
export function warnAddedColumns(run: Warned, before: readonly string[], all: readonly string[]): void {
  const columns = all.slice(before.length);
  run.logger.warn(
    { run: run.id, columns },
    `the service has added ${columns.length === 1 ? 'the column' : 'the columns'} ${showNames(columns)}; rows without an answer for it leave it empty, and all rows are written again`,
  );
}

/**
 * Names the columns that reused answers lack, with the number of their records.
 * @param columns the columns of the publication.
 */
export async function warnReusedColumns(
  run: Warned & { readonly checkpoint: Pick<CheckpointReader, 'run'> },
  columns: readonly string[],
): Promise<void> {
  const { choice } = (await run.checkpoint.run(run.id))!;
  const missing = columnsMissing(choice, columns);
  const texts = Object.entries(missing).map(
    ([column, records]) => `${showText(column)} (${countOf(records, 'record')})`,
  );
  if (texts.length === 0) return;
  run.logger.warn(
    { run: run.id, columns: missing },
    `reused answers lack columns that the service has added since, which are empty in their rows: ${texts.join(', ')}`,
  );
}
