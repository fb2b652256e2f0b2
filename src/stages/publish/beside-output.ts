/**
 * The files that are published beside an output: its rejects, its delta, and the lists of answers that have changed. Each
 * is written to the local disk before "publishing" is committed, and put in place together with the output. After a kill
 * it may be in either place.
 */
import type { Publication } from '../../checkpoint/checkpoint.js';
import { besidePath } from '../../config/sections/output-names.js';
import { isLocalFile, waitsOrIsInPlace, workPathOf } from '../../files/work-file.js';
import type { RunContext } from '../../run-context.js';

/** `drift`: answers that differ for the same sent fields. `keyDrift`: for the same key. */
const NAMES = {
  rejects: 'rejects.csv',
  delta: 'delta.csv',
  drift: 'drift.csv',
  keyDrift: 'key-drift.csv',
} as const;
const FILES = Object.keys(NAMES) as readonly BesideFile[];

export type BesideFile = keyof typeof NAMES;

/** The paths of all files that may stand beside an output. */
export function besidePaths(output: string): readonly string[] {
  return FILES.map((file) => besidePath(output, NAMES[file]));
}

/** Where a file waits until it is put in place. */
export function waitingBeside({ id, config }: Pick<RunContext, 'id' | 'config'>, file: BesideFile): string {
  return workPathOf(besidePath(config.output.path, NAMES[file]), id, config.stateDir);
}

/** Whether each file of the publication waits here or is in place. It may have waited on a machine that is gone. */
export async function hasAllBeside(
  run: Pick<RunContext, 'id' | 'config' | 'output'>,
  { rejects, delta, lists }: Publication,
): Promise<boolean> {
  const contents = { rejects, delta, ...lists };
  for (const file of FILES) {
    const content = contents[file];
    if (content === undefined) continue;
    const place = besidePath(run.config.output.path, NAMES[file]);
    if (!(await waitsOrIsInPlace(run.output, waitingBeside(run, file), place, content))) return false;
  }
  return true;
}

/** Puts the files of the publication in place. Removes the others, which belong to another output. */
export async function putBeside(
  run: Pick<RunContext, 'id' | 'config' | 'output' | 'source'>,
  { delta, drift }: Publication,
): Promise<void> {
  const { path, mode, drift: wantsLists } = run.config.output;
  const isWanted = {
    rejects: run.source.rejected > 0,
    delta: delta !== undefined,
    drift: wantsLists && drift !== undefined,
    keyDrift: wantsLists && delta?.drift !== undefined,
  };
  for (const file of FILES) {
    const [waiting, place] = [waitingBeside(run, file), besidePath(path, NAMES[file])];
    if (!isWanted[file]) await run.output.remove(place);
    // The local file is missing if a killed process has already put it in place.
    else if (await isLocalFile(waiting)) await run.output.put(waiting, place, mode);
  }
}
