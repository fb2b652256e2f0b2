/** The output store on local disks: a file is renamed into place, and its folder is synced. */
import { chmodSync, constants, createReadStream, renameSync } from 'node:fs';
import { lstat, open, readdir, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isPassingTrouble } from '../disk-error.js';
import { ConfigError } from '../errors.js';
import { makeFolder } from '../make-folder.js';
import { syncFolder as syncOnDisk } from '../streams/atomic-file.js';
import { hashFile, stampAt, toStamp } from '../streams/file-identity.js';
import { readBeginning } from '../streams/read-pieces.js';
import { codeOf, ignoreMissing } from '../streams/system-error.js';
import { checkPlace } from './output-place.js';
import { checkRights, unwritable } from './output-rights.js';
import type { OutputNames, OutputStore } from './output-store.js';

/** Bytes of a piece that is streamed. */
const STREAM_BYTES = 256 * 1024;

/**
 * Names are paths. A local file must be on the same file system as its name.
 * @param syncFolder makes renames and removals in a folder durable.
 */
export function createLocalOutputStore(syncFolder = syncOnDisk): OutputStore {
  return {
    put: async (localFile, name, mode) => {
      // No await before the rename: the caller has just checked that it may still do this.
      chmodSync(localFile, mode);
      await replacing(name, async () => renameSync(localFile, name));
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
    read: readStart,
    stream: (name) => createReadStream(name, { highWaterMark: STREAM_BYTES }),
    remove: async (name) => {
      const isThere = await lstat(name).catch(ignoreMissing);
      if (isThere === undefined) return;
      await replacing(name, () => rm(name, { force: true }));
      await syncFolder(dirname(name));
    },
    check: checkPlace,
    checkWritable: (names) => checkRights(names),
    prepare: async (names) => {
      await checkRights(names);
      makeOutputFolder(dirname(names.output));
      await tryToWrite(names);
    },
    // A folder that is missing or cannot be read counts as empty.
    names: (folder) => readdir(folder).catch(() => []),
  };
}

/** The first bytes of a file; undefined if there is none. */
export async function readStart(name: string, bytes: number): Promise<Uint8Array | undefined> {
  // A FIFO would wait for its writer.
  return readBeginning(name, bytes, constants.O_RDONLY | constants.O_NONBLOCK).catch(ignoreMissing);
}

function makeOutputFolder(folder: string): void {
  try {
    makeFolder(folder);
  } catch (cause) {
    throw refused(folder, cause);
  }
}

/** Creates a file under the longest name that the run will need, and removes it. */
async function tryToWrite({ output, local }: OutputNames): Promise<void> {
  const [longest] = [...local].sort((a, b) => Buffer.byteLength(b) - Buffer.byteLength(a));
  if (longest === undefined) return;
  try {
    const file = await open(longest, constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
    await file.close();
    await rm(longest, { force: true });
  } catch (cause) {
    throw refused(dirname(output), cause);
  }
}

/** A full or failing disk, and too many open files, have errors of their own. */
function refused(folder: string, cause: unknown): unknown {
  if (isPassingTrouble(cause)) return cause;
  return unwritable(folder, `no file can be created there (${codeOf(cause)})`, cause);
}

/** Codes of the system for what prevents a replacement until a person repairs the place. */
const IN_THE_WAY: ReadonlySet<string> = new Set([
  'EISDIR',
  'ERR_FS_EISDIR',
  'ENOTEMPTY',
  'EEXIST',
  'EBUSY',
  'EPERM',
  'EACCES',
  'ETXTBSY',
]);

/** Adds a hint to the error of a file that cannot be replaced: all is paid for, and only the place needs repair. */
async function replacing(name: string, replace: () => Promise<void>): Promise<void> {
  try {
    await replace();
  } catch (cause) {
    const code = codeOf(cause);
    if (!IN_THE_WAY.has(code)) throw cause;
    throw new ConfigError('OUTPUT_NOT_REPLACED', `${name} cannot be replaced (${code})`, {
      hint: 'move away what is there, or let this user replace it, then run the same command again: it goes on where this one stopped, and nothing is paid again',
      facts: { path: name, reason: code },
      cause,
    });
  }
}
