/** Who holds a pipeline's lock, told to people beside it. The file proves nothing: only the lock does. */
import { readFile, rename, rm, writeFile } from 'node:fs/promises';

export interface LockHolder {
  readonly pid: number;
  /** The command as it may be shown. */
  readonly command: string;
  /** Epoch milliseconds. */
  readonly since: number;
}

/** Writes the file whole, 0600. */
export async function writeLockHolder(path: string, holder: LockHolder): Promise<void> {
  const { pid, command, since } = holder;
  const partial = `${path}.partial`;
  await writeFile(partial, JSON.stringify({ pid, command, since }), { mode: 0o600 });
  await rename(partial, path);
}

/** What the file says, or undefined where it is missing or makes no sense. */
export async function readLockHolder(path: string): Promise<LockHolder | undefined> {
  try {
    const { pid, command, since } = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
    if (typeof pid !== 'number' || typeof command !== 'string' || typeof since !== 'number') return undefined;
    // Beyond this no time can be told.
    if (Number.isNaN(new Date(since).getTime())) return undefined;
    return { pid, command, since };
  } catch {
    return undefined;
  }
}

/** Removes the file; a missing one is fine. */
export async function removeLockHolder(path: string): Promise<void> {
  await rm(path, { force: true });
}
