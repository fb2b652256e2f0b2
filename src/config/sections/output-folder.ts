/**
 * The names in an output that is a folder, because `output.path` ends in `/`. Each publication has a folder of its own in
 * it, `<run>-<number>/`, and `_LATEST.json` names the newest one.
 */
import { dirname } from 'node:path';

/** A folder of one publication, at the end of a path. */
const PUBLICATION = /(?<=\/)\d{8}T\d{6}-[0-9a-f]{6}-\d+\/$/;

/** The same, and what stands in it. */
const IN_PUBLICATION = /(?<=\/)\d{8}T\d{6}-[0-9a-f]{6}-\d+\//;

/** The names of the markers, and of the other files that a publication may put beside its data. */
export const MARKERS = ['_SUCCESS', '_PARTIAL', '_REHEARSAL', '_SAMPLE'] as const;
export const FILES_OF_PUBLICATION = [
  'manifest.json',
  'rejects.csv',
  'delta.csv',
  'drift.csv',
  'key-drift.csv',
] as const;

/** Whether a path is that of a folder: of all publications, or of one. */
export function isFolder(path: string): boolean {
  return path.endsWith('/');
}

/** Whether a path is the folder of one publication. */
export function isPublicationFolder(path: string): boolean {
  return PUBLICATION.test(path);
}

/**
 * Where one publication is.
 * @param output `output.path` of its run.
 */
export function publicationPlace(output: string, run: string, number: number): string {
  return isFolder(output) ? `${output}${run}-${number}/` : output;
}

/** The output whose publication this name is in, or the same name. `out/<run>-<number>/x` becomes `out/x`. */
export function withoutPublication(name: string): string {
  return name.replace(IN_PUBLICATION, '');
}

/** The folder of the publication whose part this file is; else the same path. */
export function placeOfPart(path: string): string {
  const place = `${dirname(dirname(path))}/`;
  return isPublicationFolder(place) ? place : path;
}

/**
 * A file that belongs to an output: beside a file, in the folder of a publication.
 * @param place as `publicationPlace` gives it.
 */
export function besidePath(
  place: string,
  name: (typeof MARKERS)[number] | (typeof FILES_OF_PUBLICATION)[number],
): string {
  return isFolder(place) ? `${place}${name}` : `${place}.${name}`;
}

/** What a loader reads of a publication. @param place as `publicationPlace` gives it. */
export function dataPath(place: string): string {
  return isFolder(place) ? `${place}data/` : place;
}

/** The file beside `data/` that lists the parts, with their lengths and hashes. */
export function indexPath(place: string): string {
  return `${place}parts.json`;
}

/** The file that names the newest publication. @param output `output.path`, a folder. */
export function latestPath(output: string): string {
  return `${output}_LATEST.json`;
}

/** The file by which an output is known and locked. */
export function anchorOf(output: string): string {
  return isFolder(output) ? latestPath(output) : output;
}

/** The name of a part in `data/`, from 0 on. */
export function partName(index: number): string {
  return `part-${String(index).padStart(5, '0')}.csv`;
}
