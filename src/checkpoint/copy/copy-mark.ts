/**
 * Marks of a copied state. `moved`: this state was copied to another place. Nothing is paid for in it any more, because
 * both states would pay for the same run. `copying`: another state is being copied into this one, which is not used
 * before the copy is complete. `moving`: this state is being added to one that other pipelines use, where all its rows
 * appear at once. In a folder the mark is a file, `copy.json`.
 */
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '../../errors.js';
import { syncFolder, writeFileAtomically } from '../../streams/atomic-file.js';
import { isFileMissing } from '../../streams/system-error.js';

export interface CopyMark {
  readonly mark: 'moved' | 'copying' | 'moving';
  /** Where the state was copied to, or is copied from, as it may be shown. */
  readonly place: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

const NAME = 'copy.json';

/** @returns undefined if there is no mark. */
export function readCopyMark(stateDir: string): CopyMark | undefined {
  const path = join(stateDir, NAME);
  try {
    // In a folder that this user may not enter, `stat` fails: the error of `open` does not say that the file was to be
    // read.
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
    return JSON.parse(readFileSync(path, 'utf8')) as CopyMark;
  } catch (error) {
    if (isFileMissing(error)) return undefined;
    // A damaged mark may be any mark, so the state is not used.
    if (error instanceof SyntaxError) return { mark: 'copying', place: 'an unknown state', at: 0 };
    throw error;
  }
}

/** Durable when the promise has resolved. */
export async function writeCopyMark(stateDir: string, mark: CopyMark): Promise<void> {
  const text = `${JSON.stringify(mark)}\n`;
  await writeFileAtomically(join(stateDir, NAME), 0o600, (file) => writeFileSync(file, text));
}

/** Durable when the promise has resolved. */
export async function removeCopyMark(stateDir: string): Promise<void> {
  rmSync(join(stateDir, NAME), { force: true });
  await syncFolder(stateDir);
}

/**
 * @param here the marked state, as it may be shown.
 * @param use `read`: a state that has moved may still be looked at.
 * @throws ConfigError `STATE_MOVED`, `STATE_COPY_UNFINISHED`.
 */
export function refuseMarked(here: string, found: CopyMark | undefined, use: 'change' | 'read'): void {
  if (found === undefined || (use === 'read' && found.mark !== 'copying')) return;
  const { mark, place } = found;
  const at = new Date(found.at).toISOString();
  const facts = { state: here, place, at };
  if (mark !== 'moved') {
    const [from, to] = mark === 'copying' ? [place, here] : [here, place];
    throw new ConfigError('STATE_COPY_UNFINISHED', `the copy of ${from} to ${to} has not ended`, { facts });
  }
  throw new ConfigError(
    'STATE_MOVED',
    `${here} was copied to ${place} on ${at}, and runs go on there; nothing was sent`,
    { facts },
  );
}
