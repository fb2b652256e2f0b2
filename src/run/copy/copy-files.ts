/** Copies what a state keeps in files into another one: parts, stored answers, choices and what deltas need. */
import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckpointReader, ChunkState } from '../../checkpoint/checkpoint.js';
import { eachChunk } from '../../checkpoint/walk-run.js';
import { TroubleError } from '../../errors.js';
import type { FileCache } from '../../files/file-cache.js';
import { DamagedPartError, type FileStore } from '../../files/run-files.js';
import type { SharedFiles } from '../../files/shared-files.js';
import { hashFile } from '../../streams/file-identity.js';
import { readWhole } from '../../streams/read-pieces.js';
import type { StoredPart } from '../../types.js';
import { copiesOfOpenRuns, isKnownPath, SECRET, stateFiles } from '../backup/backup-files.js';

/** What was copied. */
export interface CopiedFiles {
  readonly files: number;
  readonly bytes: number;
  /** Files that the state names and does not have. */
  readonly lost: readonly string[];
}

type Reader = Pick<CheckpointReader, 'runs' | 'chunksIn' | 'parts' | 'segments'>;

/** Chunks in all of these may have parts. */
const WITH_PARTS: readonly ChunkState[] = ['submitted', 'finished', 'downloaded', 'unprocessed'];

/**
 * Copies all stored parts. One that is missing or damaged is left out: it is fetched from the service again, at no cost.
 * @param read the same store as `to`, opened separately, to compare what was written.
 * @throws TroubleError `STATE_COPY_DIFFERS`; the signal's reason.
 */
export async function copyParts(
  reader: Reader,
  { from, to, read }: { readonly from: FileStore; readonly to: FileStore; readonly read: FileStore },
  signal: AbortSignal,
): Promise<CopiedFiles> {
  const lost: string[] = [];
  let [files, bytes] = [0, 0];
  for (const { id, prunedAt } of await reader.runs()) {
    if (prunedAt !== null) continue;
    for await (const { number } of eachChunk(reader, id, WITH_PARTS)) {
      for (const part of await reader.parts(id, number)) {
        signal.throwIfAborted();
        const content = await readIfWhole(from, id, number, part);
        if (content === undefined) {
          lost.push(`${part.fileStatus} part ${part.part} of chunk ${number} of run ${id}`);
          continue;
        }
        const copies = await to.ofRun(id);
        await copies.writePart(number, part, [content]);
        await copies.syncParts();
        if ((await readIfWhole(read, id, number, part)) === undefined) throw differs(`a part of run ${id}`);
        files += 1;
        bytes += content.length;
      }
    }
  }
  return { files, bytes, lost };
}

async function readIfWhole(
  store: FileStore,
  run: string,
  chunk: number,
  part: StoredPart,
): Promise<Buffer | undefined> {
  try {
    return await readWhole((await store.ofRun(run)).readPart(chunk, part));
  } catch (error) {
    if (error instanceof DamagedPartError) return undefined;
    throw error;
  }
}

/**
 * Copies stored answers, choices, row digests and needed copies of sources of a folder to where all machines see them.
 */
export async function shareFiles(
  stateDir: string,
  shared: SharedFiles,
  reader: Reader,
  signal: AbortSignal,
  isWanted: (name: string) => boolean = () => true,
): Promise<CopiedFiles> {
  const found = stateFiles(stateDir);
  const needed = copiesOfOpenRuns(found.copies, await reader.runs());
  let [files, bytes] = [0, 0];
  const copied = new Set<string>();
  for (const name of [...found.answers, ...found.deltas, ...needed].filter(isWanted)) {
    signal.throwIfAborted();
    const path = join(stateDir, name);
    const before = await hashFile(path);
    if (before === undefined) continue;
    await shared.put(name, path);
    const stored = await shared.find(name);
    const hash = createHash('sha256');
    for await (const piece of stored === undefined ? [] : shared.read(stored)) hash.update(piece);
    if (hash.digest('hex') !== before.sha256) throw differs(name);
    copied.add(name);
    files += 1;
    bytes += before.bytes;
  }
  return { files, bytes, lost: await lostNames(reader, copied) };
}

/** Copies the files that all machines see into a folder, under the same names. */
export async function fetchFiles(
  shared: SharedFiles,
  cache: FileCache,
  reader: Reader,
  signal: AbortSignal,
): Promise<CopiedFiles> {
  let [files, bytes] = [0, 0];
  const copied = new Set<string>();
  for (const { name, sha256 } of await shared.list('')) {
    signal.throwIfAborted();
    if (!isKnownPath(name)) continue;
    await cache.fetch(name);
    const there = await hashFile(cache.pathOf(name));
    if (there?.sha256 !== sha256) {
      // The original is damaged. A copy is left out, so that a run which needs it reports that it is missing.
      rmSync(cache.pathOf(name), { force: true });
      continue;
    }
    copied.add(name);
    files += 1;
    bytes += there.bytes;
  }
  return { files, bytes, lost: await lostNames(reader, copied) };
}

async function lostNames(reader: Reader, copied: ReadonlySet<string>): Promise<readonly string[]> {
  const segments = (await reader.segments()).map(({ id }) => `reuse/segments/${id}.seg`);
  const choosing = (await reader.runs()).filter(
    ({ choice, prunedAt }) => choice !== null && prunedAt === null,
  );
  const choices = choosing.map(({ id }) => `reuse/choices/${id}.choice`);
  const secret = segments.length > 0 ? [SECRET] : [];
  return [...secret, ...segments, ...choices].filter((name) => !copied.has(name));
}

function differs(what: string): TroubleError {
  return new TroubleError('STATE_COPY_DIFFERS', `the copy of ${what} is not the same`);
}
