/** Removes publications of a pipeline from an output that is a folder. What anybody else has put there stays. */
import { createReadStream } from 'node:fs';
import { readdir, rm, rmdir } from 'node:fs/promises';
import {
  dataPath,
  FILES_OF_PUBLICATION,
  indexPath,
  isPublicationFolder,
  MARKERS,
} from '../config/sections/output-folder.js';
import { syncFolder } from '../streams/atomic-file.js';
import { codeOf, isMissing } from '../streams/system-error.js';
import { readIndex } from './folder-index.js';

/**
 * Removes the folders of publications of the pipeline, also of those that a killed process has left unfinished.
 * @param output the folder of all publications.
 * @param kept names of folders that stay, each with `/` at its end.
 */
export async function sweepFolder(output: string, pipeline: string, kept: readonly string[]): Promise<void> {
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
 * Removes what a publication has written: the markers first, so that nobody begins to read it, and the index last, by which it
 * is found again after a kill. A missing folder is no error.
 */
export async function removePublication(place: string): Promise<void> {
  for (const name of MARKERS) await rm(`${place}${name}`, { force: true });
  await syncFolder(place).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
  await rm(dataPath(place), { recursive: true, force: true });
  for (const name of FILES_OF_PUBLICATION) await rm(`${place}${name}`, { force: true });
  await rm(`${indexPath(place)}.tmp`, { force: true });
  await rm(indexPath(place), { force: true });
  await removeEmpty(place);
}

/** Leaves a folder in which others have put something. */
async function removeEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch((error: unknown) => {
    if (!isMissing(error) && !['ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) throw error;
  });
}
