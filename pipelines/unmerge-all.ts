/** Before an output is written again whole: nothing of the run counts as merged. */
import { isJoinedOtherwise, type OpenRun } from '../src/index.js';

/**
 * Where `result.echo` is another one than before, the way results are joined and the added columns are fixed anew too.
 * @returns whether they are.
 */
export async function unmergeAll(run: OpenRun): Promise<boolean> {
  const row = (await run.checkpoint.run(run.id))!;
  if (!isJoinedOtherwise(run.config, row)) {
    await run.checkpoint.recordUnmerged(run.id, 1);
    return false;
  }
  await run.checkpoint.recordUnjoined(run.id);
  run.join.way = null;
  return true;
}
