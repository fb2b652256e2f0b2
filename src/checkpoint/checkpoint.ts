/**
 * The port to everything that survives a kill. One named method for each change of state, each one
 * transaction; every method returns a promise, so that a checkpoint on another machine fits behind it.
 * A method that changes a row fails with `CheckpointStateError` when no row was in the state it leaves.
 */
import type {
  Chunk,
  Counts,
  FolioCounts,
  JoinWay,
  PartReference,
  Source,
  StoredPart,
  UnprocessedCause,
} from '../types.js';

/**
 * `open`: being worked on or resumable. `publishing`: the output is complete and hashed, being put in
 * place. `done`: published. `superseded`: given up for a newer run; never continued.
 */
export type RunState = 'open' | 'publishing' | 'done' | 'superseded';

export interface NewRun {
  /** Sortable by time and unique: `20261121T031002-4f9c`. */
  readonly id: string;
  readonly pipeline: string;
  /** What answers: base URL, or `embedded:<folder>`. Results are never reused across services. */
  readonly service: string;
  readonly label: string | null;
  readonly source: Source;
  /** The config values that may not change while the run is open: dotted key to JSON text. */
  readonly frozen: Readonly<Record<string, string>>;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

/** The output as hashed just before it is put in place. */
export interface Publication {
  readonly bytes: number;
  readonly sha256: string;
  readonly records: number;
  readonly exitCode: number;
  /** How the records ended: kept here, for the chunks' own counts go when the output is written again. */
  readonly counts: Counts;
  /** Where and how it is written: what ends an interrupted publishing, whatever the config says by then. */
  readonly output: {
    readonly path: string;
    readonly columns: 'all' | readonly string[];
    readonly prefix: string;
    readonly lineage: boolean;
    /** Permission bits. */
    readonly mode: number;
  };
}

export interface Run extends NewRun {
  readonly state: RunState;
  /** Number of chunks once the whole source is cut, else null. */
  readonly chunks: number | null;
  /** Columns that the service adds, in output order; null until learned or declared. */
  readonly columns: readonly string[] | null;
  readonly join: JoinWay | null;
  /** Whether any reply came from a local service (law 11). */
  readonly rehearsal: boolean;
  readonly publication: Publication | null;
  readonly finishedAt: number | null;
}

/**
 * `cut`: written, and certainly not accepted by the service. `uploading`: an intent is committed and its
 * reply is not. `ambiguous`: a POST began and nobody knows whether it was accepted. `submitted`: folio
 * known. `finished`: the service is done and lists the parts. `downloaded`: all parts on disk, counts in
 * balance. `unprocessed`: given up with a cause.
 */
export type ChunkState =
  | 'cut'
  | 'uploading'
  | 'ambiguous'
  | 'submitted'
  | 'finished'
  | 'downloaded'
  | 'unprocessed';

export interface ChunkRow extends Chunk {
  readonly state: ChunkState;
  /** Number of its latest upload attempt; 0 before the first. */
  readonly attempt: number;
  readonly folio: string | null;
  /** Epoch milliseconds at which the folio was committed. */
  readonly submittedAt: number | null;
  readonly counts: FolioCounts | null;
  readonly cause: UnprocessedCause | null;
  /** Length of the work file after this chunk, or null while it is not merged. */
  readonly mergedEnd: number | null;
  readonly merged: ChunkCounts | null;
}

/** How a merged chunk's records ended; the three add up to its records. */
export interface ChunkCounts extends Pick<Counts, 'successful' | 'failed' | 'unprocessed'> {
  /** Records whose equal tuples had different results, so that which got which is not known (law 8). */
  readonly indistinct: number;
}

/** One attempt to upload a chunk; what the ledger is made of. */
export interface Upload {
  readonly run: string;
  readonly chunk: number;
  readonly attempt: number;
  readonly fileName: string;
  readonly records: number;
  /** `intent`: about to be, or being, sent. `dropped`: certainly not accepted. */
  readonly state: 'intent' | 'accepted' | 'dropped' | 'ambiguous';
  readonly folio: string | null;
  /** What the service counted in our file, where it said so. */
  readonly serviceRecords: number | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
}

/** What the service said of an upload that it accepted. */
export interface AcceptedReply {
  readonly folio: string;
  /** What it counted in our file, where it said so. */
  readonly serviceRecords: number | null;
  /** Whether it is a local service (law 11). */
  readonly rehearsal: boolean;
}

/** Chunks and records of a run by state: what progress and status show. */
export interface Tally {
  readonly chunks: Readonly<Record<ChunkState, number>>;
  readonly records: Readonly<Record<ChunkState, number>>;
  readonly merged: { readonly chunks: number; readonly records: number };
  readonly counts: ChunkCounts;
  /** Uploads by outcome; `resubmitted` counts attempts sent after an ambiguous one of the same chunk. */
  readonly uploads: { readonly accepted: number; readonly ambiguous: number; readonly resubmitted: number };
  /** Records of ambiguous attempts: what may have been paid for twice or in vain. */
  readonly ambiguousRecords: number;
}

/** What the process that is to write and those that only read may ask. */
export interface CheckpointReader {
  /** The newest run of a pipeline that is `open` or `publishing`. */
  unfinishedRun(pipeline: string): Promise<Run | undefined>;
  /** The newest run of a pipeline whatever its state, superseded ones left out. */
  latestRun(pipeline: string): Promise<Run | undefined>;
  /** The newest `done` run of a pipeline on a service whose source had this content. */
  doneRun(pipeline: string, service: string, sourceSha256: string): Promise<Run | undefined>;
  run(id: string): Promise<Run | undefined>;
  /** Newest first; of one pipeline or of all. */
  runs(pipeline?: string): Promise<readonly Run[]>;
  chunk(run: string, number: number): Promise<ChunkRow | undefined>;
  /** At most `limit` chunks in one of the states with a number above `after`, by number. */
  chunksIn(
    run: string,
    states: readonly ChunkState[],
    after: number,
    limit: number,
  ): Promise<readonly ChunkRow[]>;
  /** The chunk with the highest number. */
  lastChunk(run: string): Promise<ChunkRow | undefined>;
  /** The merged chunk with the highest number. */
  lastMerged(run: string): Promise<ChunkRow | undefined>;
  /** An accepted upload of which the service counted other records than were sent. */
  misreadUpload(run: string): Promise<Upload | undefined>;
  /** All attempts of at most `limit` chunks with a number above `after`, by chunk and attempt. */
  uploads(run: string, after: number, limit: number): Promise<readonly Upload[]>;
  /** The upload, of any run on this service, that was answered with the folio; the first where there are more. */
  uploadOf(service: string, folio: string): Promise<Upload | undefined>;
  /** Parts stored for a chunk: successful ones first, then by part number. */
  parts(run: string, chunk: number): Promise<readonly StoredPart[]>;
  tally(run: string): Promise<Tally>;
  /** Columns that this pipeline's results have had on this service, or undefined before the first success. */
  knownColumns(pipeline: string, service: string): Promise<readonly string[] | undefined>;
}

/** The whole port: reading, and every change of state. */
export interface Checkpoint extends CheckpointReader {
  /** Adds an `open` run. */
  recordRun(run: NewRun): Promise<void>;
  /** Same content under another stamp: replaces the run's source so that the next resume can skip reading. */
  recordSourceStamp(run: string, source: Source): Promise<void>;
  /** `open` or `publishing` to `superseded`. */
  recordSuperseded(run: string): Promise<void>;
  /** Every `uploading` chunk of a run, left by a dead process, becomes `ambiguous`; returns how many. */
  recordInterrupted(run: string): Promise<number>;

  /** Adds a `cut` chunk; its number must follow the last one's. */
  recordCut(run: string, chunk: Chunk): Promise<void>;
  /** The whole source is cut: fixes the run's number of chunks. */
  recordAllCut(run: string, chunks: number): Promise<void>;

  /** `cut` or `ambiguous` to `uploading`, with the intent's row; returns the attempt's number (law 2). */
  recordIntent(
    run: string,
    chunk: number,
    fileName: (attempt: number) => string,
    at: number,
  ): Promise<Upload>;
  /** `uploading` to `submitted`: the reply was read. */
  recordAccepted(run: string, chunk: number, reply: AcceptedReply, at: number): Promise<void>;
  /** `uploading` back to `cut`: certainly not accepted. To `ambiguous` where an earlier attempt is still so. */
  recordDropped(run: string, chunk: number, at: number): Promise<void>;
  /** `uploading` to `ambiguous`. */
  recordAmbiguous(run: string, chunk: number, at: number): Promise<void>;
  /**
   * `ambiguous`, or `unprocessed` because it was held, to `submitted`: a person has found its folio. Its newest
   * ambiguous attempt is the accepted one. Chunks from it on are no longer merged, and a `done` run is `open`.
   */
  recordAdopted(run: string, chunk: number, reply: AcceptedReply, at: number): Promise<void>;

  /**
   * `submitted` to `finished`, with the counts and the parts that cover them. A `finished` or `downloaded`
   * chunk that is not merged may be listed anew: it is `finished` with none of its parts stored.
   */
  recordFinished(
    run: string,
    chunk: number,
    counts: FolioCounts,
    parts: readonly PartReference[],
  ): Promise<void>;
  /** Parts listed for a `finished` or `downloaded` chunk, successful ones first, then by number. */
  listedParts(run: string, chunk: number): Promise<readonly PartReference[]>;
  /** Stores (or, fetched again, replaces) one part of a `finished` or `downloaded` chunk. */
  recordPart(run: string, chunk: number, part: StoredPart): Promise<void>;
  /** `finished` to `downloaded`; a chunk that is `downloaded` already stays so. */
  recordDownloaded(run: string, chunk: number): Promise<void>;
  /** Any chunk that is neither being uploaded nor merged, to `unprocessed`. */
  recordUnprocessed(run: string, chunk: number, cause: UnprocessedCause): Promise<void>;

  /** Fixes the added columns for the run and, when `learned`, for the pipeline on this service. */
  recordColumns(run: string, columns: readonly string[], learned: boolean): Promise<void>;
  /** Fixes the way results are joined in this run. */
  recordJoin(run: string, join: JoinWay): Promise<void>;
  /** The work file holds the chunk whole and ends at `mergedEnd`. Chunks are merged in order. */
  recordMerged(run: string, chunk: number, counts: ChunkCounts, mergedEnd: number): Promise<void>;
  /** Chunks from this number on are no longer in the work file. */
  recordUnmerged(run: string, fromChunk: number): Promise<void>;

  /** `open`, or `done` when it is written again, to `publishing` (or `publishing` again). */
  recordPublishing(run: string, publication: Publication): Promise<void>;
  /** `publishing` to `done`. */
  recordDone(run: string, at: number): Promise<void>;
  /** `publishing` back to `open` with nothing merged: the work file was lost before it was put in place. */
  recordUnpublished(run: string): Promise<void>;

  close(): Promise<void>;
}
