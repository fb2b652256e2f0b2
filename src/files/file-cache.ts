/** Local copies of shared files, so that they are read from the disk as in a state on one machine. */
import { createHash, randomUUID } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigError } from '../errors.js';
import { makeFolder } from '../make-folder.js';
import { writeFileAtomically } from '../streams/atomic-file.js';
import { hashFile, stampAt } from '../streams/file-identity.js';
import type { SharedFile, SharedFiles } from './shared-files.js';

/** Copies under the names of the files, in one folder. */
export interface FileCache {
  /** Where the copy of a file, or of a folder of files, is. */
  pathOf(name: string): string;
  /**
   * Makes the local copy equal to the stored file, if it is not already. A damaged stored file becomes an empty copy,
   * which every reader reports as damaged.
   * @returns whether there is a file; without one, the copy is removed.
   */
  fetch(name: string): Promise<boolean>;
  /** Stores the local file. @throws LockedError `LEASE_LOST`. */
  store(name: string): Promise<void>;
  /** Removes the stored file and its copy. @throws LockedError `LEASE_LOST`. */
  remove(name: string): Promise<void>;
  /** Runs work on copies. Its errors name the stored files, not their copies. */
  naming<T>(work: () => Promise<T>): Promise<T>;
}

/** @param folder for the copies; made when it is needed. */
export function createFileCache(shared: SharedFiles, folder: string): FileCache {
  /** The copies that this process has compared or written, by name. */
  const known = new Map<string, { readonly sha256: string; readonly stamp: string | undefined }>();
  const pathOf = (name: string) => join(folder, name);
  const isCopy = async ({ name, sha256 }: SharedFile): Promise<boolean> => {
    const path = pathOf(name);
    const stamp = stampAt(path);
    if (stamp === undefined) return false;
    const before = known.get(name);
    if (before?.stamp === stamp) return before.sha256 === sha256;
    if ((await hashFile(path))?.sha256 !== sha256) return false;
    known.set(name, { sha256, stamp });
    return true;
  };
  /** @returns whether the copy is complete and has the right hash. */
  const copy = async (file: SharedFile): Promise<boolean> => {
    const path = pathOf(file.name);
    makeFolder(dirname(path), 0o700);
    // Several processes may fetch the same file.
    const own = `${path}-${randomUUID()}`;
    const hash = createHash('sha256');
    try {
      await writeFileAtomically(own, 0o600, async (fd) => {
        for await (const piece of shared.read(file)) {
          hash.update(piece);
          writeFileSync(fd, piece);
        }
      });
      const isWhole = hash.digest('hex') === file.sha256;
      if (!isWhole) writeFileSync(own, '');
      renameSync(own, path);
      if (isWhole) known.set(file.name, { sha256: file.sha256, stamp: stampAt(path) });
      return isWhole;
    } finally {
      rmSync(own, { force: true });
    }
  };
  const drop = (name: string) => {
    known.delete(name);
    rmSync(pathOf(name), { force: true });
  };
  return {
    pathOf,
    fetch: async (name) => {
      let file = await shared.find(name);
      while (file !== undefined) {
        if ((await isCopy(file)) || (await copy(file))) return true;
        // The content of a file is removed as soon as another file has its name.
        const { file: before } = file;
        file = await shared.find(name);
        if (file?.file === before) return true;
      }
      drop(name);
      return false;
    },
    store: async (name) => {
      const stamp = stampAt(pathOf(name));
      const { sha256 } = await shared.put(name, pathOf(name));
      known.set(name, { sha256, stamp });
    },
    remove: async (name) => {
      await shared.remove([name]);
      drop(name);
    },
    naming: async (work) => {
      try {
        return await work();
      } catch (error) {
        throw error instanceof ConfigError ? renamed(error, `${folder}/`, `${shared.place} `) : error;
      }
    },
  };
}

function renamed(
  { code, message, hint, facts, cause }: ConfigError,
  path: string,
  place: string,
): ConfigError {
  const name = (text: string) => text.replaceAll(path, place);
  const named = Object.entries(facts).map(([key, fact]) => [
    key,
    typeof fact === 'string' ? name(fact) : fact,
  ]);
  return new ConfigError(code, name(message), {
    ...(hint !== undefined && { hint: name(hint) }),
    facts: Object.fromEntries(named),
    cause,
  });
}
