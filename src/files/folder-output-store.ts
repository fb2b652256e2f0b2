/**
 * Outputs on local disks that are folders (rule "A file appears whole", docs/architecture.md#a-file-appears-whole). The
 * content under the name of a publication's folder is that of its parts, without the repeated headers. The content under
 * the name of the folder of all publications is that of the one that `_LATEST.json` names.
 */
import { createHash } from 'node:crypto';
import { createReadStream, renameSync, writeFileSync } from 'node:fs';
import { chmod, readdir, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  dataPath,
  FILES_OF_PUBLICATION,
  indexPath,
  isPublicationFolder,
  latestPath,
  MARKERS,
  partName,
} from '../config/sections/output-names.js';
import type { AtFailpoint } from '../failpoints.js';
import { makeFolder } from '../make-folder.js';
import { syncFolder, writeFileAtomically } from '../streams/atomic-file.js';
import { hashFile, stampAt } from '../streams/file-identity.js';
import { codeOf, ignoreMissing } from '../streams/system-error.js';
import { type FolderIndex, readIndex, readLatest } from './folder-index.js';
import { createLocalOutputStore, readStart } from './local-output-store.js';
import type { OutputStore } from './output-store.js';
import { writeParts } from './write-parts.js';

const disk = createLocalOutputStore();
const STREAM_BYTES = 256 * 1024;

/**
 * Names end in `/`. The local file must be on the same file system as the folder.
 * @param options.at called between two parts.
 * @param options.signal aborts the cutting.
 */
export function createFolderOutputStore({
  at = () => undefined,
  signal,
}: {
  readonly at?: AtFailpoint | undefined;
  readonly signal?: AbortSignal | undefined;
} = {}): Required<Pick<OutputStore, 'put' | 'identity' | 'read' | 'stream' | 'remove' | 'sweep'>> {
  return {
    put: async (localFile, name, mode, cut) => {
      const { pipeline, maxFileBytes } = cut!;
      const { size } = await stat(localFile);
      makeFolder(name);
      await writeIndex(name, mode, { pipeline, header: 0, parts: null });
      // A killed process may have left some parts.
      await rm(dataPath(name), { recursive: true, force: true });
      makeFolder(dataPath(name));
      if (maxFileBytes === null || size <= maxFileBytes) {
        const { bytes, sha256 } = (await hashFile(localFile))!;
        await chmod(localFile, mode);
        // The index names the part before it is moved: after a kill in between, the local file is still there and is
        // put again.
        await writeIndex(name, mode, { pipeline, header: 0, parts: [{ name: partName(0), bytes, sha256 }] });
        renameSync(localFile, join(dataPath(name), partName(0)));
        await syncFolder(dataPath(name));
      } else {
        const { header, parts } = await writeParts(localFile, dataPath(name), {
          mode,
          maxBytes: maxFileBytes,
          at,
          signal,
        });
        await syncFolder(dataPath(name));
        await writeIndex(name, mode, { pipeline, header, parts });
        at('after-parts-before-removal');
        await rm(localFile);
      }
      return (await readStamps(name))!.stamp;
    },
    identity: async (name) => {
      const place = await placeOf(name);
      const found = place === undefined ? undefined : await readStamps(place);
      return found && { ...found, sha256: () => hashDurably(place!) };
    },
    read: async (name, bytes) => {
      const place = await placeOf(name);
      // A file that foliopipe has not written counts as the output: it would be replaced.
      if (place === undefined) return readStart(latestPath(name), bytes);
      return (await readIndex(disk, place))?.parts
        ? readStart(join(dataPath(place), partName(0)), bytes)
        : undefined;
    },
    stream: (name) => readJoined(name),
    remove: async (name) => {
      if (isPublicationFolder(name)) return removePublication(name);
      await rm(latestPath(name), { force: true });
      await syncFolder(name).catch(ignoreMissing);
    },
    sweep: sweepFolder,
  };
}

/** The folder of a publication: the given one, or the newest; undefined if there is none. */
async function placeOf(name: string): Promise<string | undefined> {
  if (isPublicationFolder(name)) return name;
  const latest = await readLatest(disk, name);
  return latest && `${name}${latest.folder}`;
}

async function writeIndex(place: string, mode: number, index: FolderIndex): Promise<void> {
  const text = `${JSON.stringify(index, null, 2)}\n`;
  await writeFileAtomically(indexPath(place), mode, (file) => writeFileSync(file, text));
}

/** The length of the content and its stamp; undefined unless all parts are there. */
async function readStamps(place: string) {
  const index = await readIndex(disk, place);
  if (!index?.parts) return undefined;
  const hash = createHash('sha256').update(stampAt(indexPath(place)) ?? '');
  let bytes = -index.header * (index.parts.length - 1);
  for (const { name } of index.parts) {
    const path = join(dataPath(place), name);
    const stamp = stampAt(path);
    if (stamp === undefined) return undefined;
    hash.update(`\n${stamp}`);
    bytes += (await stat(path)).size;
  }
  return { bytes, stamp: hash.digest('hex') };
}

/** Syncs the folder first: a caller that compares the hash relies on it, and a killed process may not have synced. */
async function hashDurably(place: string): Promise<string | undefined> {
  const hash = createHash('sha256');
  try {
    await syncFolder(dataPath(place));
    for await (const piece of readJoined(place)) hash.update(piece);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  return hash.digest('hex');
}

async function* readJoined(name: string): AsyncGenerator<Uint8Array> {
  const place = await placeOf(name);
  const index = place === undefined ? undefined : await readIndex(disk, place);
  if (!index?.parts) {
    throw Object.assign(new Error(`ENOENT: no publication, ${name}`), { code: 'ENOENT', path: name });
  }
  for (const [at, part] of index.parts.entries()) {
    const start = at === 0 ? 0 : index.header;
    yield* createReadStream(join(dataPath(place!), part.name), { start, highWaterMark: STREAM_BYTES });
  }
}

/**
 * Removes the folders of the pipeline's publications, including those that a killed process has left unfinished.
 * @param output the folder of all publications.
 * @param kept names of folders that stay, each with `/` at its end.
 */
async function sweepFolder(output: string, pipeline: string, kept: readonly string[]): Promise<void> {
  for (const entry of await readdir(output, { withFileTypes: true })) {
    const name = `${entry.name}/`;
    if (!entry.isDirectory() || !isPublicationFolder(`/${name}`) || kept.includes(name)) continue;
    const place = `${output}${name}`;
    const index = await readIndex({ stream: createReadStream }, place);
    if (index?.pipeline === pipeline) await removePublication(place);
    // A kill came before its first file.
    else if (index === undefined) await removeEmpty(place);
  }
}

/**
 * Removes what a publication has written: the markers first, so that nobody begins to read it, and the index last, by
 * which it is found again after a kill. A missing folder is no error.
 */
async function removePublication(place: string): Promise<void> {
  for (const name of MARKERS) await rm(`${place}${name}`, { force: true });
  await syncFolder(place).catch(ignoreMissing);
  await rm(dataPath(place), { recursive: true, force: true });
  for (const name of FILES_OF_PUBLICATION) await rm(`${place}${name}`, { force: true });
  await rm(`${indexPath(place)}.tmp`, { force: true });
  await rm(indexPath(place), { force: true });
  await removeEmpty(place);
}

/** Leaves a folder in which others have put something. */
async function removeEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch((error: unknown) => {
    if (!['ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) ignoreMissing(error);
  });
}
