/**
 * What the name of an output says: a file, an object in S3, or a folder, because it ends in `/`. In a folder each
 * publication has its own folder, `<run>-<number>/`, and `_LATEST.json` names the newest one. Also the names of the files
 * that belong to an output.
 */
import { dirname } from 'node:path';

/** The id of a run within a name, as the source of a regular expression. */
export const RUN_ID = '\\d{8}T\\d{6}-[0-9a-f]{6}';

/** An id that no run has, as long as that of a run. */
export const NO_RUN = '00000000T000000-000000';

/** A folder of one publication, at the end of a path. */
const PUBLICATION = new RegExp(`(?<=/)${RUN_ID}-\\d+/$`);

/** A folder of one publication, within a path. */
const IN_PUBLICATION = new RegExp(`(?<=/)${RUN_ID}-\\d+/`);

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

/** Leaves out the folder of a publication: `out/<run>-<number>/x` becomes `out/x`. Other names stay unchanged. */
export function withoutPublication(name: string): string {
  return name.replace(IN_PUBLICATION, '');
}

/** The folder of the publication to which a part belongs; the same path for any other file. */
export function placeOfPart(path: string): string {
  const place = `${dirname(dirname(path))}/`;
  return isPublicationFolder(place) ? place : path;
}

/**
 * The path of a file that belongs to an output: beside an output file, or in the folder of a publication.
 * @param place as `publicationPlace` gives it.
 */
export function besidePath(
  place: string,
  name: (typeof MARKERS)[number] | (typeof FILES_OF_PUBLICATION)[number],
): string {
  return isFolder(place) ? `${place}${name}` : `${place}.${name}`;
}

/** The file or folder of a publication that a loader reads. @param place as `publicationPlace` gives it. */
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

/** The file that identifies an output, and beside which its lock is. */
export function anchorOf(output: string): string {
  return isFolder(output) ? latestPath(output) : output;
}

/** The name of a part in `data/`, from 0 on. */
export function partName(index: number): string {
  return `part-${String(index).padStart(5, '0')}.csv`;
}

/** An object in S3, or in another store with its interface: `s3://bucket/key`. */
interface S3Address {
  readonly bucket: string;
  readonly key: string;
}

const SCHEME = 's3://';

/** Whether a name is an address in S3, and not a path. */
export function isS3(name: string): boolean {
  return name.startsWith(SCHEME);
}

/** @param name an address, as `isS3` says. */
export function parseS3(name: string): S3Address {
  const [bucket = '', ...key] = name.slice(SCHEME.length).split('/');
  return { bucket, key: key.join('/') };
}

/** Why no object can have this address; undefined if one can. */
export function s3Problem(name: string): string | undefined {
  const { bucket, key } = parseS3(name);
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket)) {
    return 'needs a bucket of 3 to 63 lower-case letters, digits, dots and dashes: s3://bucket/key';
  }
  if (key === '') return 'names a bucket; write a key too: s3://bucket/key';
  if (/\p{Cc}/u.test(key)) return 'has a control character in its key';
  const hasOddPart = key.split('/').some((part) => part === '' || part === '.' || part === '..');
  return hasOddPart ? 'has an empty name, . or .. in its key' : undefined;
}
