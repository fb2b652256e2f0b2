/** Finds the stored parts of chunks in the folder of a run, without the database. */
import { createHash } from 'node:crypto';
import { createReadStream, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { FoundParts } from '../../checkpoint/recovery/insert-run.js';
import { countRecords } from '../../csv/kernel/count-records.js';
import type { FileStatus, StoredPart } from '../../types.js';

/** The file name of a part, with or without the first digits of the content's hash. */
const PART = /^part-(\d+)-(successful|failed)-(\d+)(?:-[0-9a-f]+)?\.csv\.gz$/;

interface PartFile {
  readonly path: string;
  readonly fileStatus: FileStatus;
  readonly part: number;
  readonly writtenAt: number;
}

/**
 * @param chunks the chunks whose parts are wanted; a chunk may have parts of several downloads.
 * @returns by chunk number, the newest set of parts that holds as many results as the chunk has records. Chunks without
 *   such a set are left out. The join proves later whether each result belongs to its record.
 */
export async function findParts(
  folder: string,
  chunks: Iterable<{ readonly number: number; readonly records: number }>,
): Promise<ReadonlyMap<number, FoundParts>> {
  const files = partFilesIn(folder);
  const found = new Map<number, FoundParts>();
  for (const { number, records } of chunks) {
    const stored = files.get(number);
    const whole = stored && (await newestWhole(stored, records));
    if (whole !== undefined) found.set(number, whole);
  }
  return found;
}

/** The part files by chunk, the newest first. */
function partFilesIn(folder: string): ReadonlyMap<number, PartFile[]> {
  const files = new Map<number, PartFile[]>();
  for (const name of readdirSync(folder).sort()) {
    const match = PART.exec(name);
    if (match === null) continue;
    const path = join(folder, name);
    const fileStatus = match[2] === 'failed' ? 'FAILED' : 'SUCCESSFUL';
    const file = { path, fileStatus, part: Number(match[3]), writtenAt: statSync(path).mtimeMs } as const;
    const chunk = Number(match[1]);
    files.set(chunk, [...(files.get(chunk) ?? []), file]);
  }
  for (const some of files.values()) some.sort((a, b) => b.writtenAt - a.writtenAt);
  return files;
}

async function newestWhole(files: readonly PartFile[], records: number): Promise<FoundParts | undefined> {
  let left: (StoredPart & { readonly key: string })[] = [];
  for (const file of files) {
    const part = await readPart(file);
    if (part !== undefined) left.push({ ...part, key: `${part.fileStatus} ${part.part}` });
  }
  for (;;) {
    const set = left.filter(({ key }, index) => left.findIndex((other) => other.key === key) === index);
    const counts = { successful: 0, failed: 0 };
    for (const part of set) counts[part.fileStatus === 'FAILED' ? 'failed' : 'successful'] += part.records;
    if (set.length > 0 && counts.successful + counts.failed === records) {
      return { counts, parts: set.map(({ key: _, ...part }) => part) };
    }
    // Drops the newest file that has an older version, so that the older version counts.
    const replaced = left.findIndex(({ key }, index) =>
      left.some((other, older) => older > index && other.key === key),
    );
    if (replaced < 0) return undefined;
    left = left.toSpliced(replaced, 1);
  }
}

/** @returns undefined if the file is damaged. */
async function readPart({ path, fileStatus, part }: PartFile): Promise<StoredPart | undefined> {
  const hash = createHash('sha256');
  let bytes = 0;
  let records = 0;
  try {
    await pipeline(createReadStream(path), createGunzip(), async (content: AsyncIterable<Buffer>) => {
      const counted = countRecords(content);
      for await (const piece of counted.content) {
        hash.update(piece);
        bytes += piece.length;
      }
      records = counted.count();
    });
  } catch (error) {
    // After a system error the file itself may be undamaged.
    if ((error as NodeJS.ErrnoException).syscall !== undefined) throw error;
    return undefined;
  }
  return { fileStatus, part, bytes, sha256: hash.digest('hex'), records };
}
