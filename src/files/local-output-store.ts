/** The output store on local disks: a file is renamed into place, and its folder is synced. */
import { constants, renameSync } from 'node:fs';
import { access, chmod, lstat, realpath, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ConfigError } from '../errors.js';
import { makeFolder } from '../make-folder.js';
import { syncFolder as syncOnDisk } from '../streams/atomic-file.js';
import { hashFile, stampAt, toStamp } from '../streams/file-identity.js';
import { isMissing } from '../streams/system-error.js';
import type { OutputStore } from './output-store.js';

/**
 * Names are paths. A local file must be on the same file system as its name.
 * @param syncFolder makes renames and removals in a folder durable.
 */
export function createLocalOutputStore(syncFolder = syncOnDisk): OutputStore {
  return {
    put: async (localFile, name, mode) => {
      await chmod(localFile, mode);
      renameSync(localFile, name);
      // Taken before the folder is synced, so that a file that replaces this one meanwhile has a different stamp.
      const stamp = stampAt(name)!;
      await syncFolder(dirname(name));
      return stamp;
    },
    identity: async (name) => {
      const found = await stat(name, { bigint: true }).catch(ignoreMissing);
      if (found === undefined) return undefined;
      return {
        bytes: Number(found.size),
        stamp: toStamp(found)!,
        sha256: async () => (await hashFile(name))?.sha256,
      };
    },
    remove: async (name) => {
      const isThere = await lstat(name).catch(ignoreMissing);
      if (isThere === undefined) return;
      await rm(name, { force: true });
      await syncFolder(dirname(name));
    },
    check: checkPath,
    prepare: async (name) => {
      const folder = dirname(name);
      makeFolder(folder);
      await access(folder, constants.W_OK | constants.X_OK);
    },
  };
}

async function checkPath(output: string, sources: readonly string[]): Promise<void> {
  const there = await stat(output).catch(() => undefined);
  if (there?.isDirectory()) {
    throw new ConfigError('OUTPUT_IS_FOLDER', `output.path ${output} is a folder`, {
      hint: 'name a file in it, for example enriched.csv',
    });
  }
  const target = there ? await realpath(output) : output;
  for (const path of sources) {
    if (target !== (await realpath(path))) continue;
    throw new ConfigError('OUTPUT_IS_SOURCE', `output.path ${output} is the source itself`, {
      hint: `write somewhere else, for example ${dirname(output)}/out/enriched.csv`,
    });
  }
}

function ignoreMissing(error: unknown): undefined {
  if (isMissing(error)) return undefined;
  throw error;
}
