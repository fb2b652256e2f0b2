/** Whether the source is cut to its end and nothing more comes for any chunk of it, rounds left aside. */
import type { Checkpoint } from '../checkpoint/checkpoint.js';
import { eachChunk } from '../checkpoint/each-chunk.js';
import type { RunContext } from '../run-context.js';

export async function isSourceAnswered(
  run: Pick<RunContext, 'id'> & { readonly checkpoint: Pick<Checkpoint, 'run' | 'chunksIn'> },
): Promise<boolean> {
  const row = (await run.checkpoint.run(run.id))!;
  if (row.chunks === null) return false;
  const states = ['cut', 'uploading', 'ambiguous', 'submitted', 'finished'] as const;
  for await (const { round } of eachChunk(run.checkpoint, run.id, states)) if (round === 0) return false;
  return true;
}
