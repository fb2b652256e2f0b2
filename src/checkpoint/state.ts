/** What is stored, as types: runs, chunks, upload attempts, and sums of them. */

import type { FailureReason } from '../failure-reasons.js';
import type {
  Choice,
  Chunk,
  Counts,
  Doubt,
  FolioCounts,
  JoinMethod,
  Position,
  Source,
  UnprocessedCause,
} from '../types.js';
import type { Confirmed, Publication, Withheld } from './publication.js';

/**
 * `open`: in progress, or can be resumed. `publishing`: the output is complete and hashed, and is being put in place.
 * `done`: published, or its rows are confirmed. `withheld`: complete, and not published, because too many records
 * failed (`failures.onExceeded`). `superseded`: replaced by a newer run, never resumed.
 */
export type RunState = 'open' | 'publishing' | 'done' | 'withheld' | 'superseded';

export interface NewRun {
  /** Sortable by time and unique: `20261121T031002-4f9c`. */
  readonly id: string;
  readonly pipeline: string;
  /**
   * The identity of the service: its name, or else its base URL; `embedded:` and name or folder for the embedded one.
   * Results of one service are not used for another.
   */
  readonly service: string;
  readonly label: string | null;
  readonly source: Source;
  /** The config values that may not change while the run is open: dotted key to JSON text. */
  readonly frozen: Readonly<Record<string, string>>;
  /** Records of the first chunk, which is sent alone and checked before the rest is paid for; 0: no canary. */
  readonly canary: number;
  /** Null if every record of the source is sent. */
  readonly choice: Choice | null;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

/** A run as the checkpoint knows it. */
export interface Run extends NewRun {
  readonly state: RunState;
  /** Number of chunks without split ones; null until the source is cut completely. */
  readonly chunks: number | null;
  /** Columns that the service adds, in output order; null until learned or declared. */
  readonly columns: readonly string[] | null;
  readonly join: JoinMethod | null;
  /** Number of closed rounds of failed records. Their answers are in the output. */
  readonly round: number;
  /** Whether any reply came from a local service (docs/architecture.md#a-rehearsal-never-looks-real). */
  readonly rehearsal: boolean;
  readonly publication: Publication | null;
  /**
   * The partial publication at a deadline after which the run was opened again; null if there is none, or once the run
   * is done.
   */
  readonly partial: Publication | null;
  /** Null in all states except `withheld`. */
  readonly withheld: Withheld | null;
  /** Null unless its rows went to a sink of the embedding program and it has no publication. */
  readonly confirmed: Confirmed | null;
  /** Epoch milliseconds at which it was published, confirmed, withheld or superseded. */
  readonly finishedAt: number | null;
  /** Epoch milliseconds at which its results were removed; its uploads stay in the ledger. */
  readonly prunedAt: number | null;
}

/** The columns that are read for the runs of all pipelines: a shared state has thousands of runs. */
export interface RunHead
  extends Pick<Run, 'id' | 'pipeline' | 'service' | 'state' | 'chunks' | 'rehearsal' | 'prunedAt'> {
  readonly hasChoice: boolean;
}

/**
 * `cut`: certainly not accepted by the service. `uploading`: the intent is committed, the reply is not. `ambiguous`: a
 * POST began, and it is unknown whether it was accepted. `submitted`: the folio is known. `finished`: the service has
 * finished and lists the parts. `downloaded`: all parts are stored and the counts balance. `unprocessed`: given up,
 * with a cause. `refused`: the service refuses its only record. `split`: refused, and replaced by two other chunks; it
 * no longer counts as a chunk.
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

/** A chunk as the checkpoint knows it. */
export interface ChunkRow extends Chunk {
  readonly state: ChunkState;
  /** 0: its records are the source's next ones to send; n: failed records that are sent again in the n-th round. */
  readonly round: number;
  /** Number of its latest upload attempt; 0 before the first. */
  readonly attempt: number;
  readonly folio: string | null;
  /** Epoch milliseconds at which the folio was committed. */
  readonly submittedAt: number | null;
  readonly counts: FolioCounts | null;
  readonly cause: UnprocessedCause | null;
  /** The service's text for a `refused` chunk. */
  readonly refusal: string | null;
}

/** Consecutive records of the source whose rows are in the work file: the unit of merging. */
export interface Stretch {
  readonly firstRecord: number;
  readonly lastRecord: number;
  readonly records: number;
  /** Just after the content of its last record. */
  readonly end: Position;
  readonly counts: RowCounts;
  /** Length of the work file after its rows. */
  readonly workEnd: number;
  /**
   * Hex, null if not known. Of the work file up to the end of its rows, if one process has written all of that; else
   * only of the bytes of its rows.
   */
  readonly sha256: string | null;
  /** Why some of its rows have no prediction; left out if all have one. */
  readonly reasons?: readonly FailureReason[];
}

/** How many rows ended in each way. The counts without origin add up to all rows. */
export interface RowCounts extends Pick<Counts, 'successful' | 'failed' | 'unprocessed'> {
  /** Records with equal sent columns and different results: it is unknown which result belongs to which record. */
  readonly indistinct: number;
  /** How many of them have an answer of an earlier run. */
  readonly reused: Pick<Counts, 'successful' | 'failed'>;
  /** How many of them have the answer of an earlier, equal record of the source. */
  readonly duplicates: Pick<Counts, 'successful' | 'failed' | 'unprocessed'>;
  /** Failed records that were not sent, because they are blank. */
  readonly skipped: number;
}

/** The records of a chunk, if they are not simply the next ones: their numbers in the source, ascending. */
export interface PickedRecords {
  /** 0: some of the source's next records, because the others have an answer already. */
  readonly round: number;
  readonly numbers: readonly number[];
}

/** A chunk before it is added to the checkpoint, which gives it its number. */
export interface NewChunk extends Omit<Chunk, 'number'> {
  /** Null if the chunk simply holds the source's next records. */
  readonly picked: PickedRecords | null;
}

/** One attempt to upload a chunk, as the ledger lists it. */
export interface Upload {
  readonly run: string;
  readonly chunk: number;
  readonly attempt: number;
  readonly fileName: string;
  readonly records: number;
  /** `intent`: about to be sent, or being sent. `dropped`: certainly not accepted. */
  readonly state: 'intent' | 'accepted' | 'dropped' | 'ambiguous';
  /** Why it is unknown whether an `ambiguous` attempt was accepted; null for other states. */
  readonly doubt: Doubt | null;
  readonly folio: string | null;
  /** Whether a local service answered; null unless the attempt was accepted. */
  readonly local: boolean | null;
  /** Number of records that the service counted in the file; null if its reply has no count. */
  readonly serviceRecords: number | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
}

/**
 * The plain uploads of a run, added up: accepted at the first attempt, never sent again, and the service counted what
 * was sent or said nothing.
 */
export interface UploadSum {
  /** Whether a local service answered them. */
  readonly local: boolean;
  readonly uploads: number;
  readonly records: number;
  /** When the first and the last of them began. */
  readonly firstAt: number;
  readonly lastAt: number;
}

/** The parts of an upload's file name: `<before><attempt's number><after>`. */
export interface AttemptFileName {
  readonly before: string;
  readonly after: string;
}

/** The service's reply to an upload that it accepted. */
export interface AcceptedReply {
  readonly folio: string;
  /** Number of records that the service counted in the file; null if its reply has no count. */
  readonly serviceRecords: number | null;
  /** Whether a local service answered. */
  readonly rehearsal: boolean;
}

/** What the service says about a folio that a person has found. */
export interface AdoptedReply extends AcceptedReply {
  /** The attempt that the file's name at the service contains, if any. */
  readonly attempt?: number | undefined;
}

/** Which kinds of service have answered a run. */
export interface ReplyKinds {
  /** Whether a local service has accepted an upload. */
  readonly local: boolean;
  /** Whether any other service has accepted one. */
  readonly other: boolean;
  /** Whether replies contradict each other: both kinds have accepted uploads, or a poll contradicts its upload. */
  readonly mixed: boolean;
}

/** Caps for paid requests, in records. Everything that was, or may have been, paid for counts. */
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

/** The single-record search for a failed record. */
export interface Search {
  /** Number of the record in the source. */
  readonly record: number;
  /** `intent`: about to be sent, or being sent. `dropped`: certainly not accepted, so it may be sent again. */
  readonly state: 'intent' | 'answered' | 'dropped' | 'ambiguous';
  /** Values by added column; null if the reply has none of them. */
  readonly values: Readonly<Record<string, string>> | null;
  readonly startedAt: number;
}

/** A paid search that belongs to no run, before it is recorded. */
export interface NewSingleSearch {
  /** Sortable by time and unique: `20261121T031002417-4f9c1a`. */
  readonly id: string;
  readonly pipeline: string;
  /** The identity of the service. */
  readonly service: string;
  readonly startedAt: number;
}

export interface SingleSearch extends NewSingleSearch {
  /** `intent`: about to be sent, being sent, or cut off by a kill. `dropped`: certainly not accepted. */
  readonly state: 'intent' | 'answered' | 'dropped' | 'ambiguous';
  /** Whether a local service answered; null unless it was answered. */
  readonly local: boolean | null;
  /** The day of the budget to which it belongs. */
  readonly day: string;
}

/** Chunks and records of a run by state, for progress and status. */
export interface Tally {
  /** Of the source and of all rounds. */
  readonly chunks: Readonly<Record<ChunkState, number>>;
  readonly records: Readonly<Record<ChunkState, number>>;
  /** Chunks of the source whose records are all in the work file, and all records in it. */
  readonly merged: { readonly chunks: number; readonly records: number };
  readonly counts: RowCounts;
  /** Uploads by outcome; `resubmitted`: accepted or ambiguous attempts after an earlier such attempt. */
  readonly uploads: { readonly accepted: number; readonly ambiguous: number; readonly resubmitted: number };
  readonly searches: { readonly answered: number; readonly ambiguous: number };
  /** Records of ambiguous attempts and searches: they may have been paid for twice, or for nothing. */
  readonly ambiguousRecords: number;
}
