/** Copies files with their hashes, and names those of a state folder that belong in a backup. */
import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Run } from '../../checkpoint/checkpoint.js';
import { wholeLength } from '../../checkpoint/journal/journal-file.js';
import { isUnfinished } from '../../checkpoint/walk-run.js';
import { makeFolder } from '../../make-folder.js';
import type { HashedFile } from '../../streams/file-identity.js';
import { namesIn } from '../../streams/system-error.js';

export const DATABASE = 'checkpoint.db';
/** The secret of the stored answers. */
export const SECRET = 'reuse/secret';
/** The journal of searches that belong to no run. */
export const SEARCHES = 'searches.log';

/** Every path that a backup may hold, relative to the state folder. No other one is ever restored. */
const KNOWN =
  /^(checkpoint\.db|searches\.log|runs\/[\w.-]+\/(paid\.log|part-\d+[\w.-]*)|reuse\/(secret|(segments|choices)\/[\w.-]+)|deltas\/[\w.-]+\.d\/[\w.-]+|spool\/[\w.-]+\.d\/[0-9a-f]+\.csv)$/;

export function isKnownPath(path: string): boolean {
  return KNOWN.test(path) && !path.split('/').includes('..');
}

/** Only whole lines of a journal are copied: another process may be writing the last one. */
export function isJournal(path: string): boolean {
  return path.endsWith('/paid.log');
}

/**
 * The files of a state folder besides the database, by their kind, relative to the folder. A file that is being written
 * (`.tmp`) is none of them.
 */
export function stateFiles(
  stateDir: string,
): Readonly<Record<'journals' | 'parts' | 'answers' | 'deltas' | 'copies', string[]>> {
  const under = (folder: string) =>
    namesIn(join(stateDir, folder))
      .sort()
      .map((name) => `${folder}/${name}`)
      .filter(isKnownPathOrFolder);
  const runs = under('runs').flatMap((run) => under(run));
  return {
    journals: [...runs.filter(isJournal), ...namesIn(stateDir).filter((name) => name === SEARCHES)],
    parts: runs.filter((path) => /\/part-[^/]*\.csv\.gz$/.test(path)),
    answers: [SECRET, ...under('reuse/segments'), ...under('reuse/choices')].filter((path) =>
      /(secret|\.seg|\.choice)$/.test(path),
    ),
    deltas: under('deltas').flatMap((folder) => under(folder)),
    copies: under('spool').flatMap((folder) => under(folder)),
  };
}

/**
 * The copies of sources in pipelines with an unfinished run: a query or standard input may never give the same content
 * again.
 */
export function copiesOfOpenRuns(
  copies: readonly string[],
  runs: readonly Pick<Run, 'pipeline' | 'state'>[],
): readonly string[] {
  const open = runs.filter(isUnfinished);
  return copies.filter((path) => open.some(({ pipeline }) => path.startsWith(`spool/${pipeline}.d/`)));
}

function isKnownPathOrFolder(path: string): boolean {
  const isFolder = /^(runs|deltas|spool)\/[\w.-]+$/.test(path);
  return !path.endsWith('.tmp') && !path.endsWith('/..') && (isFolder || isKnownPath(path));
}

const PIECE = 1024 * 1024;
/** After this many pieces, other work of this process gets a turn. */
const YIELD_PIECES = 16;

/**
 * Copies a file, 0600, and its folders, 0700. The content is durable when the promise has resolved.
 * @throws the system's error; `ENOENT` if there is no such file.
 */
export async function copyFile(from: string, to: string): Promise<HashedFile> {
  const source = openSync(from, 'r');
  try {
    const end = isJournal(from) ? wholeLength(source) : Number.POSITIVE_INFINITY;
    makeFolder(dirname(to), 0o700);
    const target = openSync(to, 'wx', 0o600);
    try {
      const hash = createHash('sha256');
      const piece = Buffer.alloc(PIECE);
      let bytes = 0;
      for (;;) {
        const read = readSync(source, piece, 0, Math.min(PIECE, end - bytes), bytes);
        if (read === 0) break;
        hash.update(piece.subarray(0, read));
        for (let at = 0; at < read; ) at += writeSync(target, piece, at, read - at);
        bytes += read;
        if (bytes % (YIELD_PIECES * PIECE) === 0) await setImmediate();
      }
      fsyncSync(target);
      return { bytes, sha256: hash.digest('hex') };
    } finally {
      closeSync(target);
    }
  } finally {
    closeSync(source);
  }
}
