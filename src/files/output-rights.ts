/**
 * Checks whether this user can write an output into its folder on a local disk, and replace what is there. Changes nothing
 * (rule "Check before paying", docs/architecture.md#check-before-paying).
 */
import { constants, statSync } from 'node:fs';
import { access, lstat, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { basename, dirname, join, relative, sep } from 'node:path';
import { ConfigError } from '../errors.js';
import { codeOf, isFileMissing } from '../streams/system-error.js';
import { lookAt, nameTooLong } from './output-place.js';
import type { OutputNames } from './output-store.js';

/** The bit of a folder, such as /tmp, in which only the folder's owner and a file's owner may replace that file. */
const STICKY = 0o1000n;

/**
 * @param uid the user of this process; undefined if the system has no such numbers.
 * @throws ConfigError `FOLDER_UNWRITABLE`, `OUTPUT_NAME_TOO_LONG`, `OUTPUT_NOT_REPLACED`, `OUTPUT_OF_OTHER_USER`,
 *   `OUTPUT_LOCK_FAILED`.
 */
export async function checkRights(names: OutputNames, uid = ownUid()): Promise<void> {
  const folder = dirname(names.output);
  const { path: there, missing } = await nearestFolder(folder);
  await access(there, constants.W_OK | constants.X_OK).catch((cause: unknown) => {
    throw unwritable(folder, `this user may not write in ${there} (${codeOf(cause)})`, cause);
  });
  // A publication is made durable by syncing the folder, which must be opened for that.
  const unread = missing.length > 0 ? '' : await access(there, constants.R_OK).then(() => '', codeOf);
  if (unread !== '') throw unwritable(folder, `this user may not read ${there} (${unread})`);
  const all = [names.output, ...names.beside, ...names.local, ...names.lock];
  // Looked up in a folder that exists: for a name in a missing folder, the system does not report that it is too long.
  for (const name of [...missing.slice(0, 1), ...all.map((path) => basename(path))]) {
    await lookAt(join(there, name));
  }
  if (missing.length > 0) return;
  await refuseImmutable(all);
  if (uid === undefined) return;
  await refuseOthersLock(names.lock, uid);
  await refuseOthersFiles(folder, all, uid);
}

/** Nobody can replace a file with the attribute "immutable", whatever its permission bits say. */
async function refuseImmutable(names: readonly string[]): Promise<void> {
  for (const name of names) {
    const code = await access(name, constants.W_OK).then(() => '', codeOf);
    if (code !== 'EPERM') continue;
    throw new ConfigError('OUTPUT_NOT_REPLACED', `${name} is immutable (${code}): it cannot be replaced`, {
      hint: `chattr -i allows it; or move it away, then run the same command again`,
      facts: { path: name, reason: code },
    });
  }
}

/** A lock is opened and removed with this user's rights, even those of root, so only this user may own the file. */
async function refuseOthersLock(names: readonly string[], uid: number): Promise<void> {
  for (const name of names) {
    const found = await lookAt(name);
    if (found === undefined || (found.uid === BigInt(uid) && found.nlink === 1n)) continue;
    const why =
      found.uid === BigInt(uid) ? 'has other names too' : `belongs to another user (uid ${found.uid})`;
    throw new ConfigError('OUTPUT_LOCK_FAILED', `${name} ${why}: the output cannot be locked`, {
      hint: 'a run of another user holds it, or was killed: wait until it ends; if there is none, remove the file and run the same command again',
      facts: { path: name, owner: Number(found.uid), user: uid },
    });
  }
}

async function refuseOthersFiles(folder: string, names: readonly string[], uid: number): Promise<void> {
  const { mode, uid: owner } = await stat(folder, { bigint: true });
  // Root may replace every file.
  if ((mode & STICKY) === 0n || uid === 0 || BigInt(uid) === owner) return;
  for (const name of names) {
    const found = await lookAt(name);
    if (found === undefined || found.uid === BigInt(uid)) continue;
    throw new ConfigError(
      'OUTPUT_OF_OTHER_USER',
      `${name} belongs to another user (uid ${found.uid}), and ${folder} is sticky: only that user can replace it`,
      {
        hint: 'let its owner or root remove it, then run the same command again; or write into a folder of your own',
        facts: { path: name, owner: Number(found.uid), user: uid },
      },
    );
  }
}

/** The user of this process, with whose rights files are replaced. */
function ownUid(): number | undefined {
  try {
    const { uid } = userInfo();
    return uid < 0 ? undefined : uid;
  } catch {
    // A container may run under a number that no user has.
    return statSync('/proc/self', { throwIfNoEntry: false })?.uid;
  }
}

/**
 * The folder, or the nearest above it that exists.
 * @returns also the names of the folders that are missing below it, outermost first.
 * @throws ConfigError `FOLDER_UNWRITABLE` if something else is there, or it cannot be looked at.
 */
export async function nearestFolder(
  folder: string,
): Promise<{ readonly path: string; readonly missing: readonly string[] }> {
  for (let path = folder; ; path = dirname(path)) {
    try {
      if (!(await stat(path)).isDirectory()) throw unwritable(folder, `${path} is not a folder`);
      const missing = relative(path, folder);
      return { path, missing: missing === '' ? [] : missing.split(sep) };
    } catch (cause) {
      if (cause instanceof ConfigError) throw cause;
      if (codeOf(cause) === 'ENAMETOOLONG') throw nameTooLong(path, cause);
      if (!isFileMissing(cause))
        throw unwritable(folder, `${path} cannot be looked at (${codeOf(cause)})`, cause);
      if (await isLink(path)) throw unwritable(folder, `${path} is a link to nothing`, cause);
      if (path === dirname(path)) throw unwritable(folder, `${path} does not exist`, cause);
    }
  }
}

function isLink(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** The error for an output folder in which nothing can be written. */
export function unwritable(folder: string, why: string, cause?: unknown): ConfigError {
  return new ConfigError('FOLDER_UNWRITABLE', `cannot write the output into ${folder}: ${why}`, {
    facts: { path: folder, reason: codeOf(cause) },
    ...(cause !== undefined && { cause }),
  });
}
