/** The reading half of the in-memory checkpoint: plain filters over everything, however slow. */
import { isDeepStrictEqual } from 'node:util';
import type { ChunkRow, ChunkState, Run, Tally, Upload } from '../../src/checkpoint/checkpoint.js';
import type { PartReference, StoredPart } from '../../src/types.js';
import type { ListedPart, Memory, MemoryChunk } from './memory-checkpoint.js';

/** Makes the methods of the port that change nothing. */
export function memoryReads(memory: Memory) {
  const chunksOf = (run: string): readonly MemoryChunk[] => memory.runs.get(run)?.chunks ?? [];
  const newestFirst = (): Run[] =>
    [...memory.runs.values()]
      .map(({ row }) => row)
      .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));

  return {
    run: (id: string): Run | undefined => memory.runs.get(id)?.row,
    runs: (pipeline?: string): Run[] =>
      newestFirst().filter((run) => pipeline === undefined || run.pipeline === pipeline),
    unfinishedRun: (pipeline: string): Run | undefined =>
      newestFirst().find(
        (run) => run.pipeline === pipeline && (run.state === 'open' || run.state === 'publishing'),
      ),
    latestRun: (pipeline: string): Run | undefined =>
      newestFirst().find((run) => run.pipeline === pipeline && run.state !== 'superseded'),
    doneRun: (pipeline: string, service: string, sourceSha256: string): Run | undefined =>
      newestFirst().find(
        (run) =>
          run.state === 'done' &&
          isDeepStrictEqual(
            [run.pipeline, run.service, run.source.sha256],
            [pipeline, service, sourceSha256],
          ),
      ),

    chunk: (run: string, number: number): ChunkRow | undefined => toRow(chunksOf(run)[number - 1]),
    chunksIn: (run: string, states: readonly ChunkState[], after: number, limit: number): ChunkRow[] =>
      chunksOf(run)
        .filter((chunk) => states.includes(chunk.state) && chunk.number > after)
        .slice(0, limit)
        .map((chunk) => toRow(chunk)!),
    lastChunk: (run: string): ChunkRow | undefined => toRow(chunksOf(run).at(-1)),
    lastMerged: (run: string): ChunkRow | undefined =>
      toRow(chunksOf(run).findLast((chunk) => chunk.merged !== null)),

    misreadUpload: (run: string): Upload | undefined =>
      (memory.runs.get(run)?.chunks ?? [])
        .flatMap((chunk) => chunk.uploads)
        .find((each) => each.state === 'accepted' && ![null, each.records].includes(each.serviceRecords)),
    uploads: (run: string, after: number, limit: number): Upload[] =>
      chunksOf(run)
        .filter((chunk) => chunk.number > after && chunk.uploads.length > 0)
        .slice(0, limit)
        .flatMap((chunk) => chunk.uploads),
    uploadOf: (service: string, folio: string): Upload | undefined =>
      [...memory.runs.values()]
        .filter(({ row }) => row.service === service)
        .sort((a, b) => (a.row.id < b.row.id ? -1 : 1))
        .flatMap(({ chunks }) => chunks.flatMap(({ uploads }) => uploads))
        .find((upload) => upload.folio === folio),
    parts: (run: string, number: number): StoredPart[] =>
      inOrder(chunksOf(run)[number - 1]).flatMap(({ stored }) => (stored === undefined ? [] : [stored])),
    listedParts: (run: string, number: number): PartReference[] =>
      inOrder(chunksOf(run)[number - 1]).map(({ fileStatus, part }) => ({ fileStatus, part })),

    tally: (run: string): Tally => tallyOf(chunksOf(run)),
    knownColumns: (pipeline: string, service: string): readonly string[] | undefined =>
      memory.columns.get(JSON.stringify([pipeline, service])),
  };
}

function toRow(chunk: MemoryChunk | undefined): ChunkRow | undefined {
  if (chunk === undefined) return undefined;
  const { uploads: _uploads, listed: _listed, ...row } = chunk;
  return row;
}

function inOrder(chunk: MemoryChunk | undefined): ListedPart[] {
  const rank = (part: ListedPart) => (part.fileStatus === 'SUCCESSFUL' ? 0 : 1);
  return [...(chunk?.listed ?? [])].sort((a, b) => rank(a) - rank(b) || a.part - b.part);
}

function tallyOf(chunks: readonly MemoryChunk[]): Tally {
  const none = {
    cut: 0,
    uploading: 0,
    ambiguous: 0,
    submitted: 0,
    finished: 0,
    downloaded: 0,
    unprocessed: 0,
  };
  const tally = {
    chunks: { ...none },
    records: { ...none },
    merged: { chunks: 0, records: 0 },
    counts: { successful: 0, failed: 0, unprocessed: 0, indistinct: 0 },
    uploads: { accepted: 0, ambiguous: 0, resubmitted: 0 },
    ambiguousRecords: 0,
  };
  for (const chunk of chunks) {
    tally.chunks[chunk.state] += 1;
    tally.records[chunk.state] += chunk.records;
    if (chunk.merged !== null) {
      tally.merged.chunks += 1;
      tally.merged.records += chunk.records;
      for (const name of ['successful', 'failed', 'unprocessed', 'indistinct'] as const) {
        tally.counts[name] += chunk.merged[name];
      }
    }
    let inDoubt = false;
    for (const { state, records } of chunk.uploads) {
      if (state !== 'accepted' && state !== 'ambiguous') continue;
      tally.uploads[state] += 1;
      if (inDoubt) tally.uploads.resubmitted += 1;
      if (state === 'ambiguous') {
        tally.ambiguousRecords += records;
        inDoubt = true;
      }
    }
  }
  return tally;
}
