/**
 * The spool of a pipeline: copies of sources that cannot be read twice, in `<stateDir>/spool/<pipeline>.d/` (with a state
 * in a database below the folder of its copies), files 0600, folder 0700. A copy is named after its content, so that a
 * run finds its own by the hash of its source.
 */
import { createHash, randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync, renameSync, writeSync } from 'node:fs';
import { open, rm, rmdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Config } from '../config/schema.js';
import { copiesFolder } from '../config/sections/state-section.js';
import { SourceError } from '../errors.js';
import type { AtFailpoint } from '../failpoints.js';
import { makeFolder } from '../make-folder.js';
import { abortable } from '../streams/abortable.js';
import { syncFolder, writeFileAtomically } from '../streams/atomic-file.js';
import { hashFile } from '../streams/file-identity.js';
import { namesIn } from '../streams/system-error.js';
import type { Source } from '../types.js';

/** Digits of the hash in a name: enough that two contents never have the same name. */
const HASH_DIGITS = 16;

/**
 * A new name for a copy until it is whole. Two copies never share one, because a process that has lost its lease may
 * wake up on the same machine.
 */
const unfinished = () => `new.${randomBytes(6).toString('hex')}.csv`;
/** The folder for what DuckDB cannot hold in its memory. */
export const TEMPORARY = 'new.duckdb';

/** The keys of a config that say where the spool of its pipeline is. */
export type SpoolPlace = Pick<Config, 'stateDir' | 'state' | 'pipeline'>;

export function spoolFolder(place: SpoolPlace): string {
  return join(copiesFolder(place), 'spool', `${place.pipeline}.d`);
}

/** The folder of a pipeline's copies among the files of a state. */
export function spoolName(pipeline: string): string {
  return `spool/${pipeline}.d/`;
}

/** The name of a copy among the files of a state. */
export function copyName(pipeline: string, sha256: string): string {
  return `${spoolName(pipeline)}${nameOf(sha256)}`;
}

/** The copies that a run has read, in the order of its source; undefined if one of them is gone. */
export function copiesOf({ files }: Pick<Source, 'files'>, folder: string): readonly string[] | undefined {
  const paths = files.map(({ sha256 }) => copyPath(folder, sha256));
  return paths.every((path) => existsSync(path)) ? paths : undefined;
}

export function copyPath(folder: string, sha256: string): string {
  return join(folder, nameOf(sha256));
}

function nameOf(sha256: string): string {
  return `${sha256.slice(0, HASH_DIGITS)}.csv`;
}

/** Where copies are written. */
export interface Spool {
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly at: AtFailpoint;
  /** Called with the bytes of a stream that are copied so far. */
  readonly onCopy?: ((progress: { readonly bytes: number }) => void) | undefined;
}

/**
 * Copies a stream. The copy gets its name only after all of it is on the disk.
 * @returns the path of the copy.
 * @throws the errors of the stream; the signal's reason; the system's error, such as `ENOSPC`.
 */
export async function writeCopy(
  { folder, signal, at, onCopy }: Spool,
  pieces: AsyncIterable<Uint8Array>,
): Promise<string> {
  makeFolder(folder, 0o700);
  const hash = createHash('sha256');
  let bytes = 0;
  const write = async (file: number) => {
    for await (const piece of abortable(pieces, signal)) {
      hash.update(piece);
      for (let from = 0; from < piece.length; ) from += writeSync(file, piece, from);
      bytes += piece.length;
      onCopy?.({ bytes });
      at('after-spool-piece-before-next');
    }
    return copyPath(folder, hash.digest('hex'));
  };
  const path = await writeFileAtomically(join(folder, unfinished()), 0o600, write, (named) => named);
  at('after-spool-before-check');
  return path;
}

/**
 * Lets another program write a copy, into a file that exists and is empty. The copy gets its name only after all of it is
 * on the disk.
 * @returns the path of the copy.
 * @throws the errors of `fill`; the system's error.
 */
export async function fillCopy(
  { folder, at }: Spool,
  fill: (path: string) => Promise<void>,
): Promise<string> {
  makeFolder(folder, 0o700);
  const path = join(folder, unfinished());
  try {
    closeSync(openSync(path, 'wx', 0o600));
    await fill(path);
    at('after-spool-fill-before-name');
    const named = copyPath(folder, (await hashFile(path))!.sha256);
    await syncFile(path);
    renameSync(path, named);
    await syncFolder(folder);
    at('after-spool-before-check');
    return named;
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Checks that copies still hold what their names say.
 * @throws SourceError `SOURCE_COPY_DAMAGED`; the copy is then removed.
 */
export async function checkCopies({ files }: Pick<Source, 'files'>): Promise<void> {
  for (const { path, sha256 } of files) {
    if (basename(path) === nameOf(sha256)) continue;
    await rm(path, { force: true });
    throw new SourceError(
      'SOURCE_COPY_DAMAGED',
      `${path}: this copy of the source was changed, and is removed`,
      {
        hint: 'look at the disk and at who writes there; the same command copies the source again',
        facts: { file: path },
      },
    );
  }
}

/** Removes every copy except those that are kept, and what a kill has left. @param kept paths. */
export async function removeCopies(folder: string, kept: ReadonlySet<string>): Promise<void> {
  for (const name of namesIn(folder)) {
    const path = join(folder, name);
    if (OWN_NAME.test(name) && !kept.has(path)) await rm(path, { recursive: true, force: true });
  }
}

/** The names of copies, whole or not. */
const OWN_NAME = /^(?:[0-9a-f]{16}\.csv|new\..*)$/;

/** The names of the folders in which plans copy sources: a plan takes no lock. */
const PLAN = 'plan-';
/** The folder of a pipeline has another ending, whatever the pipeline is called. */
const PLAN_NAME = /^plan-[0-9a-f]{12}$/;
/** No plan takes longer. */
const PLAN_MS = 24 * 3_600_000;

/** Gives a plan a folder for its copies, and removes it afterwards. */
export async function withPlanFolder<T>(stateDir: string, use: (folder: string) => Promise<T>): Promise<T> {
  const spool = join(stateDir, 'spool');
  const isNew = !existsSync(stateDir);
  const folder = join(spool, `${PLAN}${randomBytes(6).toString('hex')}`);
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
    // A plan leaves no folder that was not there before. A folder that somebody else uses is not empty.
    for (const empty of isNew ? [spool, stateDir] : [spool]) await rmdir(empty).catch(() => undefined);
  }
}

/** Removes what killed plans have left. @param now epoch milliseconds. */
export async function removeOldPlans(spool: string, now: number): Promise<void> {
  for (const name of namesIn(spool)) {
    if (!PLAN_NAME.test(name)) continue;
    const path = join(spool, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: now }));
    if (now - mtimeMs > PLAN_MS) await rm(path, { recursive: true, force: true });
  }
}
