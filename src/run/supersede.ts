/** Gives up an unfinished run for a newer one: what was bought stays, its half-written output does not. */
import { rm } from 'node:fs/promises';
import type { Checkpoint, Run } from '../checkpoint/checkpoint.js';
import { workPathOf } from '../stages/work-file.js';

/** @param at epoch milliseconds. */
export async function supersede(
  checkpoint: Pick<Checkpoint, 'recordSuperseded'>,
  run: Pick<Run, 'id' | 'frozen'>,
  at: number,
): Promise<void> {
  await checkpoint.recordSuperseded(run.id, at);
  const output = JSON.parse(run.frozen['output.path'] ?? 'null') as string | null;
  if (output !== null) await rm(workPathOf(output, run.id), { force: true });
}
