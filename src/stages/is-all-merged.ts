/** Whether the source is cut to its end and every chunk of it is in the work file. */
import type { Checkpoint } from '../checkpoint/checkpoint.js';
import type { RunContext } from '../run-context.js';

export async function isAllMerged(
  run: Pick<RunContext, 'id'> & { readonly checkpoint: Pick<Checkpoint, 'run' | 'lastMerged' | 'lastCut'> },
): Promise<boolean> {
  const row = (await run.checkpoint.run(run.id))!;
  const merged = await run.checkpoint.lastMerged(run.id);
  const cut = await run.checkpoint.lastCut(run.id, 0);
  return row.chunks !== null && merged?.number === cut?.number;
}
