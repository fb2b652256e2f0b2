/** The files of a publication (docs/output.md): their names, which marker it gets, and how one is put in place. */
import type { Run } from '../checkpoint/checkpoint.js';
import {
  anchorOf,
  besidePath,
  dataPath,
  FILES_OF_PUBLICATION,
  indexPath,
  isFolder,
  MARKERS,
  NO_RUN,
  partName,
  publicationPlace,
} from '../config/sections/output-names.js';
import { encodedPathOf } from '../files/encoded-file.js';
import type { OutputNames } from '../files/output-store.js';
import { workPathOf, writeLocalFile } from '../files/work-file.js';
import type { RunContext } from '../run-context.js';

type PublishedRun = Pick<Run, 'rehearsal'> & { readonly source: Pick<Run['source'], 'limit'> };

/** What a publication is (rule "A rehearsal never looks real"), in its manifest and in the name of its marker. */
export function publicationStatus(
  { rehearsal, source }: PublishedRun,
  exitCode: number,
): 'REHEARSAL' | 'SAMPLE' | 'SUCCESS' | 'PARTIAL' {
  if (rehearsal) return 'REHEARSAL';
  if (source.limit !== undefined) return 'SAMPLE';
  return exitCode === 0 ? 'SUCCESS' : 'PARTIAL';
}

export function markerPath(output: string, run: PublishedRun, exitCode: number): string {
  return besidePath(output, `_${publicationStatus(run, exitCode)}`);
}

/** The paths of all markers that an output may have. */
export function markerPaths(output: string): string[] {
  return MARKERS.map((name) => besidePath(output, name));
}

/**
 * Everything that a publication of an output writes, without the files of its lock. The work files are named after a run
 * that does not exist: their names are as long as those of any run.
 */
export function publicationNames(output: string, stateDir: string): OutputNames {
  const place = publicationPlace(output, NO_RUN, 0);
  const beside = [...FILES_OF_PUBLICATION, ...MARKERS].map((name) => besidePath(place, name));
  const anchor = anchorOf(output);
  const works = [...new Set([output, anchor, ...beside])].map((name) => workPathOf(name, NO_RUN, stateDir));
  const local = [...works, ...works.map((name) => `${name}.tmp`), encodedPathOf(works[0]!)];
  if (isFolder(place)) beside.push(indexPath(place), `${dataPath(place)}${partName(0)}`);
  return { output: anchor, beside, local, lock: [] };
}

/**
 * Writes a file whole to the local disk, and puts it in place under `name`.
 * @param fill as in `writeLocalFile`.
 */
export async function putFile(
  { id, config, output }: Pick<RunContext, 'id' | 'config' | 'output'>,
  name: string,
  fill: (append: (piece: string) => void) => Promise<void>,
): Promise<void> {
  const waiting = workPathOf(name, id, config.stateDir);
  await writeLocalFile(waiting, fill);
  await output.put(waiting, name, config.output.mode);
}
