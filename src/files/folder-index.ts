/** The two files by which a folder of publications is read: the list of a publication's parts, and `_LATEST.json`. */
import { indexPath, isPublicationFolder, latestPath } from '../config/sections/output-names.js';
import { isFileMissing } from '../streams/system-error.js';
import type { Bytes } from '../types.js';
import type { OutputStore } from './output-store.js';

export interface FolderPart {
  /** The name of the file in `data/`. */
  readonly name: string;
  readonly bytes: Bytes;
  /** Hex. */
  readonly sha256: string;
}

/** What `parts.json` of a publication holds. */
export interface FolderIndex {
  readonly pipeline: string;
  /** Bytes of the header, which each part begins with. */
  readonly header: Bytes;
  /** In the order of the rows; null while they are written. */
  readonly parts: readonly FolderPart[] | null;
}

/** What `_LATEST.json` must hold, so that the newest publication can be read and earlier ones are kept. */
export interface Latest {
  readonly pipeline: string;
  /** Names of folders of publications in the output, each with `/` at its end: the newest, and those before it. */
  readonly folder: string;
  readonly earlier: readonly string[];
}

type Store = Pick<OutputStore, 'stream'>;

/**
 * @param place the folder of a publication.
 * @returns undefined if there is no such file, or it is not one of foliopipe.
 */
export async function readIndex(store: Store, place: string): Promise<FolderIndex | undefined> {
  const { pipeline, header, parts } = (await readJson(store, indexPath(place))) as Partial<FolderIndex>;
  if (typeof pipeline !== 'string' || typeof header !== 'number') return undefined;
  if (!Array.isArray(parts)) return { pipeline, header, parts: null };
  return parts.every((part) => /^part-\d{5,}\.csv$/.test(part?.name))
    ? { pipeline, header, parts }
    : undefined;
}

/**
 * @param output the folder of all publications.
 * @returns undefined if there is no such file, or it is not one of foliopipe.
 */
export async function readLatest(store: Store, output: string): Promise<Latest | undefined> {
  const { pipeline, folder, earlier } = (await readJson(store, latestPath(output))) as Partial<Latest>;
  const isName = (name: unknown) => typeof name === 'string' && isPublicationFolder(`/${name}`);
  if (typeof pipeline !== 'string' || !isName(folder) || !Array.isArray(earlier)) return undefined;
  return { pipeline, folder: folder!, earlier: earlier.filter(isName) };
}

/** An object without keys if the file is missing or holds no object. */
async function readJson(store: Store, name: string): Promise<object> {
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of store.stream(name)) pieces.push(piece);
    return Object(JSON.parse(Buffer.concat(pieces).toString()));
  } catch (error) {
    if (isFileMissing(error) || error instanceof SyntaxError) return {};
    throw error;
  }
}
