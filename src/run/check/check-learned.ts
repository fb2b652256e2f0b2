/**
 * Checks the target of loads once more when the first results show the columns of the service. After a canary they are
 * known.
 */
import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import { FoliopipeError } from '../../errors.js';
import type { RunContext } from '../../run-context.js';
import type { MergedStretch } from '../../stages/merge/merge-stretch.js';
import { expectedColumns } from '../../stages/merge/result-columns.js';
import { checkLoad } from '../load/load-run.js';

type CheckLearnedNeeds = Pick<
  RunContext,
  'id' | 'config' | 'loadTarget' | 'signal' | 'uploads' | 'deferred' | 'logger'
> & {
  readonly checkpoint: Pick<Checkpoint, 'knownColumns' | 'run'>;
};

/**
 * Passes the merged rows on. If the columns of the service were unknown, the first merged rows have fixed them, and the
 * target is checked. If the table cannot take them, the run uploads no more chunks and ends with that error; what is
 * sent already goes on.
 */
export function checkLearned(
  run: CheckLearnedNeeds,
): (merged: AsyncIterable<MergedStretch>) => AsyncGenerator<MergedStretch> {
  return async function* checkFirst(merged) {
    const row = (await run.checkpoint.run(run.id))!;
    let isChecked = run.loadTarget === null || (await expectedColumns(run, row)).length > 0;
    for await (const rows of merged) {
      if (!isChecked) {
        isChecked = true;
        await checkNow(run);
      }
      yield rows;
    }
  };
}

async function checkNow(run: CheckLearnedNeeds): Promise<void> {
  try {
    await checkLoad(run, (await run.checkpoint.run(run.id))!);
  } catch (error) {
    if (!(error instanceof FoliopipeError) || run.signal.aborted) throw error;
    run.logger.warn(
      { code: error.code, ...error.facts },
      `${error.message}; nothing more is uploaded, and what is sent already goes on`,
    );
    run.uploads.stopped = true;
    run.deferred.error ??= error;
  }
}
