/** Small valid arguments for the checkpoint's methods. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NewRun, Publication } from '../../src/checkpoint/checkpoint.js';
import type { Chunk, Source, StoredPart } from '../../src/types.js';

/** Calls `use` with a new empty folder, removed afterwards. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'foliopipe-checkpoint-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export function sampleSource(stamp = 'stamp-1', sha256 = 'aa'): Source {
  const dialect = { encoding: 'utf8', bom: false, delimiter: ',', newline: 'LF', gzip: false } as const;
  const file = { path: 'data/a.csv', bytes: 900, stamp, sha256, records: 30, dialect, dataStart: 12 };
  return { files: [file], columns: ['name', 'größe'], records: 30, rejected: 1, sha256 };
}

export function sampleRun(id: string, changes: Partial<NewRun> = {}): NewRun {
  return {
    id,
    pipeline: 'nightly',
    service: 'https://service.test',
    label: null,
    source: sampleSource(),
    frozen: { 'chunks.maxRecords': '10' },
    createdAt: 1_000,
    ...changes,
  };
}

/** Ten records each; the offsets do not fit into 32 bits. */
export function sampleChunk(number: number): Chunk {
  const offset = 5_000_000_000 + number * 100;
  return {
    number,
    firstRecord: number * 10 - 9,
    lastRecord: number * 10,
    records: 10,
    start: { file: 0, offset },
    end: { file: 1, offset: offset + 99 },
    bytes: 120,
    sha256: `chunk-${number}`,
  };
}

export function samplePart(part: number, changes: Partial<StoredPart> = {}): StoredPart {
  return { fileStatus: 'SUCCESSFUL', part, bytes: 50, sha256: `part-${part}`, records: 8, ...changes };
}

export const samplePublication: Publication = {
  bytes: 4_000_000_000,
  sha256: 'ff',
  records: 30,
  exitCode: 0,
  counts: { read: 30, successful: 30, failed: 0, unprocessed: 0, rejected: 0 },
  output: { path: '/out/enriched.csv', columns: 'all', prefix: 'prediction_', lineage: false, mode: 0o640 },
};

export const allSuccessful = { successful: 10, failed: 0, unprocessed: 0, indistinct: 0 };

export const nothingTallied = {
  cut: 0,
  uploading: 0,
  ambiguous: 0,
  submitted: 0,
  finished: 0,
  downloaded: 0,
  unprocessed: 0,
};
