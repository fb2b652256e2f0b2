/** Finds the files of a source, stamps them, and explains why one cannot be read. */

import fs, { type BigIntStats, statSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute } from 'node:path';
import type { FileSystemAdapter } from 'tinyglobby';
import { diskError } from '../disk-error.js';
import { type FoliopipeError, SourceError } from '../errors.js';
import { nearestName } from '../nearest-name.js';
import { type HashedFile, hashFile, stampText } from '../streams/file-identity.js';
import { codeOf, isFileMissing } from '../streams/system-error.js';
import { showText } from '../text.js';

/**
 * Finds the file with this name, or the files that a glob matches, in byte order of their paths. The name of an existing
 * file is never used as a glob.
 *
 * @throws SourceError `SOURCE_MISSING` when no file has the name or matches; `SOURCE_UNREADABLE`.
 */
export async function findFiles(pattern: string): Promise<string[]> {
  const isFound = await stat(pattern).then(
    () => true,
    (error: unknown) => {
      if (UNSEEN.has(codeOf(error))) throw unreadable(pattern, error);
      return false;
    },
  );
  if (isFound) return [pattern];
  const files = await matchingFiles(pattern);
  if (files.length > 0) return files.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const { what, meant } = await lookAround(pattern);
  throw new SourceError('SOURCE_MISSING', `${pattern}: no file has this name or matches it${what}`, {
    hint: meant === undefined ? WHERE : `did you mean ${showText(meant)}? else ${WHERE}`,
    facts: { pattern },
  });
}

/**
 * The files that a pattern matches, in any order. By itself, the search ignores a folder that cannot be read, and a dead
 * link: the records in them would be missing unnoticed.
 */
async function matchingFiles(pattern: string): Promise<string[]> {
  const deadLinks = new Map<string, unknown>();
  let failure: FoliopipeError | undefined;
  const followLink = (link: string, done: Done<string>) =>
    fs.realpath(link, (error, target) => {
      // Editors put such a hidden link beside a file that is being edited.
      if (error === null || basename(link).startsWith('.')) return done(error, target);
      deadLinks.set(link, error);
      done(null, link);
    });
  // A dead link is treated as a folder, which is read only if the pattern may match it or something in it.
  const lookAt = (path: string, done: Done<fs.Stats>) =>
    deadLinks.has(path) ? done(null, FOLDER) : fs.stat(path, done);
  const readFolder = (folder: string, _options: unknown, done: Done<fs.Dirent[]>) => {
    const path = folder.replace(/(?<=.)\/$/, '');
    if (deadLinks.has(path)) {
      failure ??= deadLink(path, deadLinks.get(path));
      return done(null, []);
    }
    fs.readdir(path, { withFileTypes: true }, (error, entries) => {
      const isSeen = error === null || isFileMissing(error) || basename(path) === ROOTS_OWN;
      if (!isSeen) failure ??= unreadable(path, error);
      done(error, entries);
    });
  };
  const disk = { readdir: readFolder, realpath: followLink, stat: lookAt } as unknown as FileSystemAdapter;
  const { glob } = await import('tinyglobby');
  const files = await glob(searchedPattern(pattern), { ...globOptions(pattern), fs: disk });
  if (failure !== undefined) throw failure;
  return files;
}

type Done<T> = (error: NodeJS.ErrnoException | null, found: T) => void;

const FOLDER = { isDirectory: () => true } as fs.Stats;

/** A folder in the root of a disk, for repairs. Most users cannot read it. */
const ROOTS_OWN = 'lost+found';

function deadLink(link: string, cause: unknown): SourceError {
  const isGone = isFileMissing(cause);
  return new SourceError(
    isGone ? 'SOURCE_MISSING' : 'SOURCE_UNREADABLE',
    `${link}: this link leads nowhere (${codeOf(cause)})`,
    {
      hint: 'put back what it leads to (is a disk not mounted?), or remove the link, or narrow source.path',
      facts: { file: link, reason: codeOf(cause) },
      cause,
    },
  );
}

/** Why nothing was found: a folder that does not exist, or a name that is nearly that of a file. */
async function lookAround(pattern: string): Promise<{ readonly what: string; readonly meant?: string }> {
  // The folder before the first wildcard: after it, a pattern may match several folders.
  const folder = dirname(pattern.replace(/[*?[{(!].*/s, 'x'));
  try {
    const meant = nearestName(basename(pattern), await readdir(folder));
    return { what: '', ...(meant !== undefined && { meant }) };
  } catch (error) {
    return { what: codeOf(error) === 'ENOENT' ? ` (there is no folder ${folder})` : '' };
  }
}

const WHERE =
  'check source.path: relative paths in a config file are relative to that file, those in a flag (--source) to this folder';

/** Escapes a ! at the beginning of a name, which for the search would mean all other names. */
export function searchedPattern(pattern: string): string {
  return pattern.replaceAll(/(?<=^|\/)!(?!\()/g, '\\!');
}

/** How a pattern is read. */
export function globOptions(pattern: string) {
  return { onlyFiles: true, absolute: isAbsolute(pattern), dot: true, expandDirectories: false } as const;
}

/** Codes of errors after which the file may exist. Reading the name as a glob would hide the trouble. */
const UNSEEN = new Set(['EACCES', 'ELOOP', 'EIO', 'ESTALE', 'EMFILE', 'ENFILE']);

/** A cheap way to see whether a file is unchanged: equal stamps mean equal content. */
export interface FileStamp {
  /** Size on disk in bytes. */
  readonly bytes: number;
  /** Size, times in nanoseconds and inode as one text. */
  readonly stamp: string;
}

/** @throws SourceError `SOURCE_MISSING`; `SOURCE_UNREADABLE`, also for a path that is not a regular file. */
export async function fileStamp(path: string): Promise<FileStamp> {
  const facts = factsOf(path);
  if (!facts.isFile()) {
    const what = facts.isDirectory() ? 'a folder' : 'not a regular file';
    throw new SourceError('SOURCE_UNREADABLE', `${path}: this is ${what}`, {
      hint: 'source.path must name a file, or a pattern such as folder/*.csv; a run reads it several times, so a pipe is read with source.path: "-"',
      facts: { file: path },
    });
  }
  return { bytes: Number(facts.size), stamp: stampText(facts) };
}

/**
 * Refuses a file that was written to since it was stamped.
 * @throws SourceError `SOURCE_CHANGED`; those of `fileStamp`.
 */
export async function refuseRestamped(path: string, { stamp }: Pick<FileStamp, 'stamp'>): Promise<void> {
  if ((await fileStamp(path)).stamp === stamp) return;
  throw new SourceError('SOURCE_CHANGED', `${path}: the file was changed while it was read`, {
    hint: 'wait until it is written completely, then run the same command again',
    facts: { file: path },
  });
}

/** Synchronous, because another thread would take twenty times as long, and a source may have thousands of files. */
function factsOf(path: string): BigIntStats {
  try {
    return statSync(path, { bigint: true });
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/**
 * The length and hash of a file on the disk.
 *
 * @returns undefined if there is no such file.
 * @throws SourceError `SOURCE_UNREADABLE`; the signal's reason.
 */
export async function hashSourceFile(path: string, signal: AbortSignal): Promise<HashedFile | undefined> {
  return hashFile(path, async () => signal.throwIfAborted()).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw unreadable(path, cause);
  });
}

/**
 * The first of the files that is gone, or has another stamp than when it was read. Reads no content, so it also finds a
 * file that was only touched.
 */
export async function findRestamped<F extends FileStamp & { readonly path: string }>(
  files: readonly F[],
): Promise<F | undefined> {
  for (const file of files) {
    const now = await fileStamp(file.path).catch(() => undefined);
    if (now?.stamp !== file.stamp) return file;
  }
  return undefined;
}

/**
 * The error for a file that cannot be read: `SOURCE_MISSING` if it does not exist, `TOO_MANY_FILES` if the process may
 * open no more files, otherwise `SOURCE_UNREADABLE`.
 *
 * @param cause an error of the system or of zlib.
 */
export function unreadable(path: string, cause: unknown): FoliopipeError {
  const systemCode = codeOf(cause) || 'UNKNOWN';
  const limit = diskError(cause, path);
  if (limit?.code === 'TOO_MANY_FILES') return limit;
  const reason = cause instanceof Error ? cause.message : String(cause);
  const isMissing = systemCode === 'ENOENT';
  const isGzip = systemCode.startsWith('Z_');
  return new SourceError(
    isMissing ? 'SOURCE_MISSING' : 'SOURCE_UNREADABLE',
    isMissing ? `${path}: there is no such file` : `${path}: ${isGzip ? 'broken gzip: ' : ''}${reason}`,
    {
      hint: isGzip
        ? 'copy the file again: it is cut off or damaged'
        : (HINTS[systemCode] ?? 'check the disk'),
      facts: { file: path, reason: systemCode },
      cause,
    },
  );
}

/** By the system's error code. */
const HINTS: Readonly<Record<string, string>> = {
  ENOENT: WHERE,
  EACCES: 'give this user the right to read the file and its folders',
  ELOOP: 'correct the links, which form a loop',
  EISDIR: 'source.path must name a file, or a pattern such as folder/*.csv',
};
