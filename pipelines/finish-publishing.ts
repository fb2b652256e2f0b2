/** Puts an output in place whose publishing was interrupted. */
import { type OpenRun, putInPlace } from '../src/index.js';

/** @returns whether there was one. */
export async function finishPublishing(run: OpenRun): Promise<boolean> {
  const row = await run.checkpoint.run(run.id);
  if (row?.state !== 'publishing' || row.publication === null) return false;
  await putInPlace(run, row.publication);
  return true;
}
