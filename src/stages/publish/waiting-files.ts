/** The local files beside an output that wait to be put in place: the work file, and what is published with it. */
import { fixedOutputPath, type OutputRun } from '../../config/output-path.js';
import { removeEncoded } from '../../files/encoded-file.js';
import { removeLocalFile, workPathOf } from '../../files/work-file.js';
import { deltaPath, driftPath, rejectsPath } from '../../report/manifest.js';

/**
 * Removes the waiting files of a run that will not publish them. A kill may have left any of them; all can be written
 * again from the parts.
 */
export async function removeWaitingFiles(run: OutputRun, stateDir: string): Promise<void> {
  const { id } = run;
  const path = fixedOutputPath(run);
  if (path === null) return;
  for (const name of [path, rejectsPath(path), deltaPath(path), driftPath(path)]) {
    await removeLocalFile(workPathOf(name, id, stateDir));
  }
  await removeLocalFile(workPathOf(path, id, stateDir, true));
  for (const partial of [false, true]) await removeEncoded(workPathOf(path, id, stateDir, partial));
}
