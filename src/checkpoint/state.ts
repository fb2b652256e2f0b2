/** What the checkpoint keeps, as its callers see it: runs, chunks, upload attempts, and sums of them. */
import type { Chunk, Counts, Doubt, FolioCounts, JoinMethod, Source, UnprocessedCause } from '../types.js';

/**
 * `open`: being worked on or resumable. `publishing`: an output is complete and hashed, being put in
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
  /** Records of the first chunk, which is sent alone and checked before the rest is paid for; 0: no such chunk. */
  readonly canary: number;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

/** The output as hashed just before it is put in place. */
export interface Publication {
  /** Increases within the pipeline, from 1: each putting-in-place has its own. */
  readonly number: number;
  readonly bytes: number;
  readonly sha256: string;
  readonly records: number;
  readonly exitCode: number;
  /** Whether a deadline came before the run was done: once in place, the run is open again. */
  readonly partial: boolean;
  /** How the records ended: kept here, for the chunks' own counts go when the output is written again. */
  readonly counts: Counts;
  /** Columns that the service adds, in output order. */
  readonly resultColumns: readonly string[];
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

/** A publication whose number is given when "publishing" is committed. */
export type NewPublication = Omit<Publication, 'number'>;

/** What is kept of each publication for good: enough to know it again where it stands. */
export interface PublishedFile extends Pick<Publication, 'number' | 'bytes' | 'sha256'> {
  readonly run: string;
  readonly path: string;
  /** Of the file just after it was put in place; null where that is not known. */
  readonly stamp: string | null;
}

export interface Run extends NewRun {
  readonly state: RunState;
  /** Number of chunks, split ones left out, once the whole source is cut; else null. */
  readonly chunks: number | null;
  /** Columns that the service adds, in output order; null until learned or declared. */
  readonly columns: readonly string[] | null;
  readonly join: JoinMethod | null;
  /** Rounds of failed records that are settled: their answers stand in the output. */
  readonly round: number;
  /** Whether any reply came from a local service (law 11). */
  readonly rehearsal: boolean;
  readonly publication: Publication | null;
  /** Epoch milliseconds at which it was published or given up. */
  readonly finishedAt: number | null;
  /** Epoch milliseconds at which its results were removed; its uploads stay in the ledger. */
  readonly prunedAt: number | null;
}

/**
 * `cut`: written, and certainly not accepted by the service. `uploading`: an intent is committed and its
 * reply is not. `ambiguous`: a POST began and nobody knows whether it was accepted. `submitted`: folio
 * known. `finished`: the service is done and lists the parts. `downloaded`: all parts on disk, counts in
 * balance. `unprocessed`: given up with a cause. `refused`: the service will not have its only record.
 * `split`: refused, and its records are in two other chunks now; left out wherever chunks are counted.
 */
export type ChunkState =
  | 'cut'
  | 'uploading'
  | 'ambiguous'
  | 'submitted'
  | 'finished'
  | 'downloaded'
  | 'unprocessed'
  | 'refused'
  | 'split';

export interface ChunkRow extends Chunk {
  readonly state: ChunkState;
  /** 0: its records are the source's next; n: failed records that are sent again in the n-th round. */
  readonly round: number;
  /** Number of its latest upload attempt; 0 before the first. */
  readonly attempt: number;
  readonly folio: string | null;
  /** Epoch milliseconds at which the folio was committed. */
  readonly submittedAt: number | null;
  readonly counts: FolioCounts | null;
  readonly cause: UnprocessedCause | null;
  /** What the service said of a `refused` chunk. */
  readonly refusal: string | null;
  /** Length of the work file after this chunk, or null while it is not merged. */
  readonly mergedEnd: number | null;
  /** Of what the work file has gained with this chunk, hex; null where it is not merged or not known. */
  readonly mergedSha256: string | null;
  readonly merged: ChunkCounts | null;
}

/** How a merged chunk's records ended; the three add up to its records. */
export interface ChunkCounts extends Pick<Counts, 'successful' | 'failed' | 'unprocessed'> {
  /** Records whose equal tuples had different results, so that which got which is not known (law 8). */
  readonly indistinct: number;
}

/** Some records of the source, sent in a round: the numbers of exactly those, ascending. */
export interface PickedRecords {
  readonly round: number;
  readonly numbers: readonly number[];
}

/** A chunk before it is added; the checkpoint gives it its number. */
export interface NewChunk extends Omit<Chunk, 'number'> {
  /** Null where the chunk simply holds the source's next records. */
  readonly picked: PickedRecords | null;
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
  /** Why nobody knows of an `ambiguous` one whether it was accepted; null of all others. */
  readonly doubt: Doubt | null;
  readonly folio: string | null;
  /** Whether a local service answered (law 11); null unless it was accepted. */
  readonly local: boolean | null;
  /** What the service counted in our file, where it said so. */
  readonly serviceRecords: number | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
}

/** The file name of an upload as data: `<before><attempt's number><after>`. */
export interface AttemptFileName {
  readonly before: string;
  readonly after: string;
}

/** What the service said of an upload that it accepted. */
export interface AcceptedReply {
  readonly folio: string;
  /** What it counted in our file, where it said so. */
  readonly serviceRecords: number | null;
  /** Whether it is a local service (law 11). */
  readonly rehearsal: boolean;
}

/** Who has answered a run (law 11). */
export interface ReplyKinds {
  /** Whether a local service has accepted an upload. */
  readonly local: boolean;
  /** Whether another service has. */
  readonly other: boolean;
  /** Whether replies contradict each other: both of these, or a poll that says otherwise than its upload. */
  readonly mixed: boolean;
}

/** What a paid request may cost at most: records, over all that was and may have been paid for. */
export interface Budget {
  /** The day as `2026-11-21`, in the budget's time zone; its first seven letters are the month. */
  readonly day: string;
  readonly perRun: number | null;
  readonly perDay: number | null;
  readonly perMonth: number | null;
}

/** Records paid for, ambiguous ones included. */
export interface Spending {
  readonly run: number;
  readonly day: number;
  readonly month: number;
}

/** One failed record asked for by the single-record search. */
export interface Search {
  /** Number of the record in the source. */
  readonly record: number;
  /** `intent`: about to be, or being, asked. `dropped`: certainly not counted, so it may be asked again. */
  readonly state: 'intent' | 'answered' | 'dropped' | 'ambiguous';
  /** Values by added column, or null where the reply held none of them. */
  readonly values: Readonly<Record<string, string>> | null;
  readonly startedAt: number;
}

/** Chunks and records of a run by state: what progress and status show. */
export interface Tally {
  /** Of the source and of all rounds. */
  readonly chunks: Readonly<Record<ChunkState, number>>;
  readonly records: Readonly<Record<ChunkState, number>>;
  readonly merged: { readonly chunks: number; readonly records: number };
  readonly counts: ChunkCounts;
  /** Uploads by outcome; `resubmitted` counts attempts sent after an ambiguous one of the same chunk. */
  readonly uploads: { readonly accepted: number; readonly ambiguous: number; readonly resubmitted: number };
  readonly searches: { readonly answered: number; readonly ambiguous: number };
  /** Records of ambiguous attempts, searches included: what may have been paid for twice or in vain. */
  readonly ambiguousRecords: number;
}
