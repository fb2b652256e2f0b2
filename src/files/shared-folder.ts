/** The contents of shared files in a folder that all machines see; files 0600, folders 0700. */
import { randomUUID } from 'node:crypto';
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '../errors.js';
import { makeFolder } from '../make-folder.js';
import { writeFileAtomically } from '../streams/atomic-file.js';
import { readPieces } from '../streams/read-pieces.js';
import { isFileMissing, namesIn } from '../streams/system-error.js';
import type { SharedContents } from './shared-files.js';

/**
 * @param folder made when it is first written to; its parent has other files of the state.
 * @param isUsed whether the state has files in it: then it is there, unless this machine sees another place.
 */
export function createFolderContents(folder: string, isUsed: () => Promise<boolean>): SharedContents {
  const own = join(folder, 'shared');
  const pathOf = (file: string) => join(own, file);
  return {
    folder,
    write: async (file, fill) => {
      if (!existsSync(own) && (await isUsed())) throw folderMissing(own);
      makeFolder(own, 0o700);
      await writeFileAtomically(pathOf(file), 0o600, (fd) => fill(async (piece) => writeFileSync(fd, piece)));
      return 0;
    },
    read: (file) => readIfThere(pathOf(file), own),
    remove: async (files) => {
      for (const file of files) rmSync(pathOf(file), { force: true });
    },
    olderThan: async (age) => {
      const names = namesIn(own);
      if (names.length === 0) return [];
      const before = nowIn(own) - age;
      return names.filter((name) => {
        const found = statSync(pathOf(name), { throwIfNoEntry: false });
        return found !== undefined && found.mtimeMs < before;
      });
    },
  };
}

/** The current time by the clock that sets the times of the folder's files. This machine's clock may be wrong by days. */
function nowIn(folder: string): number {
  const path = join(folder, `now-${randomUUID()}`);
  try {
    writeFileSync(path, '', { mode: 0o600 });
    return statSync(path).mtimeMs;
  } finally {
    rmSync(path, { force: true });
  }
}

/**
 * A missing file is read as an empty one, so its hash differs. The folder itself is there once a file was written.
 * @throws ConfigError `FILES_FOLDER_MISSING`.
 */
async function* readIfThere(path: string, own: string): AsyncGenerator<Buffer> {
  try {
    yield* readPieces(path);
  } catch (error) {
    if (!isFileMissing(error)) throw error;
    if (!existsSync(own)) throw folderMissing(own);
  }
}

/** What was bought is not lost: this machine sees another place, such as an empty mount point. */
function folderMissing(own: string): ConfigError {
  return new ConfigError(
    'FILES_FOLDER_MISSING',
    `${own}, which the database of the state names, is not there: the folder of files is not mounted on this machine, or is another one`,
    { facts: { folder: own } },
  );
}
