/** The port over plain objects: the model that the contract suite and the property test hold SQLite to. */
import { isDeepStrictEqual } from 'node:util';
import type {
  AcceptedReply,
  Checkpoint,
  ChunkCounts,
  ChunkRow,
  ChunkState,
  NewRun,
  Publication,
  Run,
  Upload,
} from '../../src/checkpoint/checkpoint.js';
import { CheckpointStateError } from '../../src/checkpoint/checkpoint-state-error.js';
import type {
  Chunk,
  FolioCounts,
  JoinWay,
  PartReference,
  Source,
  StoredPart,
  UnprocessedCause,
} from '../../src/types.js';
import { memoryReads } from './memory-reads.js';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export interface ListedPart extends PartReference {
  stored: StoredPart | undefined;
}

export interface MemoryChunk extends Mutable<ChunkRow> {
  readonly uploads: Mutable<Upload>[];
  listed: ListedPart[];
}

export interface MemoryRun {
  readonly row: Mutable<Run>;
  readonly chunks: MemoryChunk[];
}

export interface Memory {
  readonly runs: Map<string, MemoryRun>;
  /** Columns by pipeline and service. */
  readonly columns: Map<string, readonly string[]>;
}

/** Makes an empty checkpoint that lives as long as the object. */
export function createMemoryCheckpoint(): Checkpoint {
  const memory: Memory = { runs: new Map(), columns: new Map() };

  /** The run, which must be in one of the states. */
  const runIn = (method: string, id: string, ...states: Run['state'][]): MemoryRun => {
    const run = memory.runs.get(id);
    return expect(method, run !== undefined && states.includes(run.row.state) ? run : undefined);
  };
  /** The chunk, which must be in one of the states. */
  const chunkIn = (method: string, id: string, number: number, ...states: ChunkState[]): MemoryChunk => {
    const chunk = memory.runs.get(id)?.chunks[number - 1];
    return expect(method, chunk !== undefined && states.includes(chunk.state) ? chunk : undefined);
  };
  const endAttempt = (chunk: MemoryChunk, end: Partial<Upload>): void => {
    Object.assign(chunk.uploads.at(-1)!, end);
  };

  const changes = {
    recordRun(run: NewRun) {
      expect('recordRun', !memory.runs.has(run.id));
      const row: Run = {
        ...structuredClone(run),
        state: 'open',
        chunks: null,
        columns: null,
        join: null,
        rehearsal: false,
        publication: null,
        finishedAt: null,
      };
      memory.runs.set(run.id, { row, chunks: [] });
    },
    recordSourceStamp(id: string, source: Source) {
      const { row } = runIn('recordSourceStamp', id, 'open', 'publishing', 'done');
      expect('recordSourceStamp', row.source.sha256 === source.sha256);
      row.source = structuredClone(source);
    },
    recordSuperseded(id: string) {
      runIn('recordSuperseded', id, 'open', 'publishing').row.state = 'superseded';
    },
    recordInterrupted(id: string) {
      const cutOff = (memory.runs.get(id)?.chunks ?? []).filter((chunk) => chunk.state === 'uploading');
      for (const chunk of cutOff) {
        chunk.state = 'ambiguous';
        endAttempt(chunk, { state: 'ambiguous' });
      }
      return cutOff.length;
    },

    recordCut(id: string, chunk: Chunk) {
      const { row, chunks } = runIn('recordCut', id, 'open');
      expect('recordCut', row.chunks === null && chunk.number === chunks.length + 1);
      chunks.push({ ...structuredClone(chunk), ...newChunk(), uploads: [], listed: [] });
    },
    recordAllCut(id: string, count: number) {
      const { row, chunks } = runIn('recordAllCut', id, 'open');
      expect('recordAllCut', count === chunks.length && (row.chunks ?? count) === count);
      row.chunks = count;
    },

    recordIntent(id: string, number: number, fileName: (attempt: number) => string, at: number): Upload {
      const chunk = chunkIn('recordIntent', id, number, 'cut', 'ambiguous');
      chunk.state = 'uploading';
      chunk.attempt += 1;
      const upload: Upload = {
        run: id,
        chunk: number,
        attempt: chunk.attempt,
        fileName: fileName(chunk.attempt),
        records: chunk.records,
        state: 'intent',
        folio: null,
        serviceRecords: null,
        startedAt: at,
        endedAt: null,
      };
      chunk.uploads.push({ ...upload });
      return upload;
    },
    recordAccepted(id: string, number: number, reply: AcceptedReply, at: number) {
      const { folio, serviceRecords } = reply;
      const chunk = chunkIn('recordAccepted', id, number, 'uploading');
      Object.assign(chunk, { state: 'submitted', folio, submittedAt: at });
      endAttempt(chunk, { state: 'accepted', folio, serviceRecords, endedAt: at });
      if (reply.rehearsal) memory.runs.get(id)!.row.rehearsal = true;
    },
    recordDropped(id: string, number: number, at: number) {
      const chunk = chunkIn('recordDropped', id, number, 'uploading');
      chunk.state = chunk.uploads.some((upload) => upload.state === 'ambiguous') ? 'ambiguous' : 'cut';
      endAttempt(chunk, { state: 'dropped', endedAt: at });
    },
    recordAmbiguous(id: string, number: number, at: number) {
      const chunk = chunkIn('recordAmbiguous', id, number, 'uploading');
      chunk.state = 'ambiguous';
      endAttempt(chunk, { state: 'ambiguous', endedAt: at });
    },
    recordAdopted(id: string, number: number, reply: AcceptedReply, at: number) {
      const { row, chunks } = runIn('recordAdopted', id, 'open', 'done');
      const chunk = chunks[number - 1];
      const adoptable = chunk?.state === 'ambiguous' || chunk?.cause === 'AMBIGUOUS_HELD';
      const upload = expect(
        'recordAdopted',
        adoptable && chunk.uploads.findLast(({ state }) => state === 'ambiguous'),
      );
      const { folio, serviceRecords } = reply;
      Object.assign(chunk!, { state: 'submitted', folio, submittedAt: at, cause: null });
      Object.assign(upload, { state: 'accepted', folio, serviceRecords, endedAt: at });
      changes.recordUnmerged(id, number);
      if (row.state === 'done') Object.assign(row, { state: 'open', publication: null, finishedAt: null });
      if (reply.rehearsal) row.rehearsal = true;
    },

    recordFinished(id: string, number: number, counts: FolioCounts, parts: readonly PartReference[]) {
      const chunk = chunkIn('recordFinished', id, number, 'submitted', 'finished', 'downloaded');
      const names = new Set(parts.map(({ fileStatus, part }) => `${fileStatus} ${part}`));
      expect('recordFinished', chunk.merged === null && names.size === parts.length);
      Object.assign(chunk, { state: 'finished', counts: { ...counts } });
      chunk.listed = parts.map(({ fileStatus, part }) => ({ fileStatus, part, stored: undefined }));
    },
    recordPart(id: string, number: number, part: StoredPart) {
      const { listed } = chunkIn('recordPart', id, number, 'finished', 'downloaded');
      const place = listed.find((each) => each.fileStatus === part.fileStatus && each.part === part.part);
      expect('recordPart', place).stored = { ...part };
    },
    recordDownloaded(id: string, number: number) {
      const chunk = chunkIn('recordDownloaded', id, number, 'finished', 'downloaded');
      expect(
        'recordDownloaded',
        chunk.listed.every((part) => part.stored !== undefined),
      );
      chunk.state = 'downloaded';
    },
    recordUnprocessed(id: string, number: number, cause: UnprocessedCause) {
      const leaves = ['cut', 'ambiguous', 'submitted', 'finished', 'downloaded'] as const;
      const chunk = chunkIn('recordUnprocessed', id, number, ...leaves);
      expect('recordUnprocessed', chunk.merged === null);
      Object.assign(chunk, { state: 'unprocessed', cause });
    },

    recordColumns(id: string, columns: readonly string[], learned: boolean) {
      const { row, chunks } = runIn('recordColumns', id, 'open', 'publishing', 'done');
      const nothingMerged = chunks.every((chunk) => chunk.merged === null);
      expect(
        'recordColumns',
        row.columns === null || isDeepStrictEqual(row.columns, columns) || nothingMerged,
      );
      row.columns = [...columns];
      if (learned) memory.columns.set(JSON.stringify([row.pipeline, row.service]), [...columns]);
    },
    recordJoin(id: string, join: JoinWay) {
      const { row } = runIn('recordJoin', id, 'open', 'publishing', 'done');
      expect('recordJoin', row.join === null || isDeepStrictEqual(row.join, join));
      row.join = structuredClone(join);
    },
    recordMerged(id: string, number: number, counts: ChunkCounts, mergedEnd: number) {
      const chunk = chunkIn('recordMerged', id, number, 'downloaded', 'unprocessed');
      const before = memory.runs.get(id)!.chunks[number - 2];
      expect('recordMerged', chunk.merged === null && before?.merged !== null);
      expect('recordMerged', counts.successful + counts.failed + counts.unprocessed === chunk.records);
      Object.assign(chunk, { merged: { ...counts }, mergedEnd });
    },
    recordUnmerged(id: string, fromChunk: number) {
      for (const chunk of memory.runs.get(id)?.chunks ?? []) {
        if (chunk.number >= fromChunk) Object.assign(chunk, { merged: null, mergedEnd: null });
      }
    },

    recordPublishing(id: string, publication: Publication) {
      const { row } = runIn('recordPublishing', id, 'open', 'publishing', 'done');
      Object.assign(row, { state: 'publishing', publication: { ...publication } });
    },
    recordDone(id: string, at: number) {
      Object.assign(runIn('recordDone', id, 'publishing').row, { state: 'done', finishedAt: at });
    },
    recordUnpublished(id: string) {
      const { row } = runIn('recordUnpublished', id, 'publishing');
      Object.assign(row, { state: 'open', publication: null, finishedAt: null });
      changes.recordUnmerged(id, 1);
    },
    close() {},
  };

  return { ...asPromised(memoryReads(memory)), ...asPromised(changes) };
}

function newChunk(): Omit<ChunkRow, keyof Chunk> {
  const unknown = {
    folio: null,
    submittedAt: null,
    counts: null,
    cause: null,
    mergedEnd: null,
    merged: null,
  };
  return { state: 'cut', attempt: 0, ...unknown };
}

function expect<T>(method: string, found: T | undefined | false): T {
  if (found === undefined || found === false) throw new CheckpointStateError(method, 'not in that state');
  return found;
}

type Methods = Record<string, (...args: never[]) => unknown>;
type Promised<T extends Methods> = {
  [K in keyof T]: (...args: Parameters<T[K]>) => Promise<ReturnType<T[K]>>;
};

/** The same methods returning promises of copies, so that no caller holds the memory itself. */
function asPromised<T extends Methods>(methods: T): Promised<T> {
  const wrapped = Object.entries(methods).map(([name, method]) => [
    name,
    async (...args: never[]) => structuredClone(method(...args)),
  ]);
  return Object.fromEntries(wrapped) as Promised<T>;
}
