/** What the in-memory checkpoint stores, and how a change finds its row. */
import type {
  ChunkRow,
  ChunkState,
  NightFacts,
  PublishedFile,
  RecordedLoad,
  Run,
  Search,
  SingleSearch,
  Stretch,
  Upload,
} from '../../../src/checkpoint/checkpoint.js';
import { CheckpointStateError } from '../../../src/checkpoint/checkpoint-errors.js';
import type { PartReference, Segment, StoredPart } from '../../../src/types.js';

export type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export interface ListedPart extends PartReference {
  stored: StoredPart | undefined;
}

export interface MemoryChunk {
  readonly row: Mutable<ChunkRow>;
  readonly picked: readonly number[] | undefined;
  listed: ListedPart[];
  times: { cutAt?: number | undefined; finishedAt?: number | undefined; downloadedAt?: number | undefined };
}

/** One payment: refunded when its request was dropped, and kept when the run is pruned. */
export interface Payment {
  readonly day: string;
  readonly records: number;
  readonly paidFor: Mutable<Upload> | Mutable<Search> | Mutable<SingleSearch>;
}

export interface MemoryRun {
  readonly row: Mutable<Run>;
  /** By number. */
  readonly chunks: Map<number, MemoryChunk>;
  /** In the order of their intents. */
  readonly uploads: Mutable<Upload>[];
  /** By record; a record that is asked for again has its newest search here. */
  readonly searches: Map<number, Mutable<Search>>;
  readonly payments: Payment[];
  /** In the order of the source. */
  stretches: (Stretch & { readonly mergedAt?: number | undefined })[];
  mixed: boolean;
}

export interface Memory {
  /** In the order in which they were added. */
  readonly runs: Map<string, MemoryRun>;
  /** Searches that belong to no run, by id. Each is one payment. */
  readonly singles: Map<string, Mutable<SingleSearch>>;
  /** Columns by pipeline and service. */
  readonly columns: Map<string, readonly string[]>;
  /** In the order in which they were added. */
  segments: Segment[];
  /** By pipeline, in the order of their numbers. */
  readonly published: Map<string, (Mutable<PublishedFile> & { night?: NightFacts | undefined })[]>;
  /** By run. */
  readonly loads: Map<string, RecordedLoad>;
  /** By name in the output store. */
  readonly outputUploads: Map<string, string>;
}

/** @throws CheckpointStateError of the method, unless the condition holds. */
export function must(method: string, condition: boolean): asserts condition {
  if (!condition) throw new CheckpointStateError(method, 'not in a state that allows it');
}

/** The run, which must be in one of the states. */
export function runIn(memory: Memory, method: string, id: string, ...states: Run['state'][]): MemoryRun {
  const run = memory.runs.get(id);
  must(method, run !== undefined && states.includes(run.row.state));
  return run;
}

/** The chunk, which must be in one of the states; its run may be in any state. */
export function chunkIn(
  memory: Memory,
  method: string,
  id: string,
  number: number,
  ...states: ChunkState[]
): MemoryChunk {
  const chunk = memory.runs.get(id)?.chunks.get(number);
  must(method, chunk !== undefined && states.includes(chunk.row.state));
  return chunk;
}

/** The attempts of a chunk in their order. */
export function attemptsOf(run: MemoryRun | undefined, chunk: number): Mutable<Upload>[] {
  return (run?.uploads ?? []).filter((upload) => upload.chunk === chunk);
}

/** The chunks of a round, split ones left out, in the order of the source. */
export function chunksInOrder(run: MemoryRun | undefined, round: number): MemoryChunk[] {
  return [...(run?.chunks.values() ?? [])]
    .filter(({ row }) => row.round === round && row.state !== 'split')
    .sort((a, b) => a.row.firstRecord - b.row.firstRecord);
}

/** Stretches that end at the record or after it are no longer in the work file. */
export function unmerge(run: MemoryRun | undefined, fromRecord: number): void {
  if (run !== undefined) run.stretches = run.stretches.filter(({ lastRecord }) => lastRecord < fromRecord);
}
