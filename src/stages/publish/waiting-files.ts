/** The local files beside an output that wait to be put in place: the work file, and what is published with it. */
import type { Checkpoint, CheckpointReader, Run } from '../../checkpoint/checkpoint.js';
import type { Config } from '../../config/schema.js';
import { publicationPlace } from '../../config/sections/output-names.js';
import { frozenOutputPath, type OutputRun } from '../../config/sections/output-path.js';
import { removeEncoded } from '../../files/encoded-file.js';
import { hasContent, type OutputStore } from '../../files/output-store.js';
import { isLocalFile, removeLocalFile, workPathOf } from '../../files/work-file.js';
import type { Logger } from '../../logger.js';
import type { RunContext } from '../../run-context.js';
import { besidePaths } from './beside-output.js';
import { waitingOutput } from './encode-output.js';
import { removeKeptChunks } from './keep-answers.js';

/**
 * Removes the waiting files of a run that will not publish them. A kill may have left any of them; all can be written
 * again from the parts.
 */
export async function removeWaitingFiles(run: OutputRun, stateDir: string): Promise<void> {
  const path = frozenOutputPath(run);
  if (path !== null) await removeWaitingAt(path, run.id, stateDir);
}

/**
 * Removes what a run that has ended does not need: an output can be written again from the parts. Called again when a
 * later command finds that the run has ended, because a kill may have come before the removal.
 */
export async function removeUnneeded(
  run: Parameters<typeof removeKeptChunks>[0] &
    Pick<RunContext, 'config'> & { readonly checkpoint: Pick<CheckpointReader, 'run'> },
): Promise<void> {
  await removeWaitingFiles((await run.checkpoint.run(run.id))!, run.config.stateDir);
  await removeKeptChunks(run);
}

/**
 * Removes what waits beside one path after a run that had ended was written again: no later command uses it, because
 * each writes all rows again.
 * @param before the run as it was.
 * @param path where it was written; what an earlier attempt has left beside the earlier path is removed too.
 */
export async function removeRewritten(
  checkpoint: Pick<CheckpointReader, 'run'>,
  before: Run,
  path: string,
  stateDir: string,
): Promise<void> {
  const { state } = (await checkpoint.run(before.id))!;
  // While the run is `publishing`, the files must still be put in place.
  if (state !== 'done' && state !== 'withheld') return;
  const earlier = frozenOutputPath(before);
  for (const one of new Set([path, earlier ?? path])) await removeWaitingAt(one, before.id, stateDir);
}

async function removeWaitingAt(path: string, id: string, stateDir: string): Promise<void> {
  for (const name of [path, ...besidePaths(path)]) {
    const waiting = workPathOf(name, id, stateDir);
    // What a kill has left while the file was written.
    for (const file of [waiting, `${waiting}.tmp`]) await removeLocalFile(file);
  }
  await removeLocalFile(workPathOf(path, id, stateDir, true));
  for (const partial of [false, true]) await removeEncoded(workPathOf(path, id, stateDir, partial));
}

interface WorkContext {
  readonly checkpoint: Checkpoint;
  readonly output: OutputStore;
  readonly logger: Logger;
}

/**
 * Gives up what an earlier process has left of an output where the state is in a database: that process may have been on
 * another machine, and may be paused rather than dead. So its files are removed, and not continued: if it resumes, it
 * writes into a file without a name. All rows are written again from the parts.
 * @param limit as in `unfinishedRun`.
 */
export async function forgetWork(
  { pipeline, stateDir }: Pick<Config, 'pipeline' | 'stateDir'>,
  context: WorkContext,
  limit: number | undefined,
): Promise<void> {
  const { checkpoint, logger } = context;
  const run = await checkpoint.unfinishedRun(pipeline, limit);
  if (run === undefined) return;
  if (run.state === 'publishing') {
    if (await isThere(run, stateDir, context.output)) return;
    logger.info({ run: run.id }, `the output of run ${run.id} is not on this machine: it is written again`);
    await checkpoint.recordUnpublished(run.id);
  }
  await removeWaitingFiles(run, stateDir);
  await checkpoint.recordUnmerged(run.id, 1);
}

/** Whether an interrupted publication can be finished here: its file waits on this machine, or is in place. */
async function isThere({ id, publication }: Run, stateDir: string, output: OutputStore): Promise<boolean> {
  const { number, partial, content, output: settings } = publication!;
  const path = publicationPlace(settings.path, id, number);
  const work = waitingOutput(workPathOf(path, id, stateDir, partial), content !== undefined);
  if (await isLocalFile(work)) return true;
  const found = await output.identity(path);
  return found !== undefined && (await hasContent(found, publication!));
}
