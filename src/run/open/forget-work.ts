/**
 * What an earlier process has left of an output where the state is in a database: that process may have been on another
 * machine, and may wake up. So its files are removed, not gone on with: a paused process then writes into a file without
 * a name. All rows are written again from the parts.
 */
import type { Checkpoint, Run } from '../../checkpoint/checkpoint.js';
import type { Config } from '../../config/schema.js';
import { publicationPlace } from '../../config/sections/output-folder.js';
import { hasContent, type OutputStore } from '../../files/output-store.js';
import { isLocalFile, workPathOf } from '../../files/work-file.js';
import type { Logger } from '../../logger.js';
import { waitingOutput } from '../../stages/publish/encode-output.js';
import { removeWaitingFiles } from '../../stages/publish/waiting-files.js';

interface WorkContext {
  readonly checkpoint: Checkpoint;
  readonly output: OutputStore;
  readonly logger: Logger;
}

/** @param limit finds the sample with this limit alone. */
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
