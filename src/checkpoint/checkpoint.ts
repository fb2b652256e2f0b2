/**
 * The port to the state that survives a kill. Each change of state has one method and is one transaction. Every method
 * returns a promise, so that the checkpoint may be on another machine. A change whose promise has resolved survives a
 * power failure. Changes marked "not synced" are the exception: a power failure may undo them, and the next start
 * repeats them without paying. A change throws `CheckpointStateError` when no row is in a state that allows it. A
 * method that returns a chunk returns the changed chunk.
 */
import type {
  Doubt,
  FolioCounts,
  JoinMethod,
  PartReference,
  Segment,
  Source,
  StoredPart,
  UnprocessedCause,
} from '../types.js';
import type { CheckpointReader } from './checkpoint-reader.js';
import type { Confirmed, NewPublication, Publication, RecordedLoad, Withheld } from './publication.js';
import type {
  AcceptedReply,
  AdoptedReply,
  AttemptFileName,
  Budget,
  ChunkRow,
  NewChunk,
  NewRun,
  NewSingleSearch,
  Stretch,
  Upload,
} from './state.js';

export type { FailureReason } from '../failure-reasons.js';
export type { Answered, CheckpointReader, ChunkTimes, SpentOnDay } from './checkpoint-reader.js';
export type * from './night.js';
export type * from './publication.js';
export type * from './state.js';

/**
 * The whole port: reading, and every change of state. A change that its run, chunk or search is in no state for changes
 * nothing, and throws a `CheckpointStateError`.
 */
export interface Checkpoint extends CheckpointReader {
  /** Adds an `open` run. */
  recordRun(run: NewRun): Promise<void>;
  /**
   * Replaces the stored source by one with the same content and new stamps, so that the next resume need not read it.
   */
  recordSourceStamp(run: string, source: Source): Promise<void>;
  /** `open` or `publishing` to `superseded`. */
  recordSuperseded(run: string, at: number): Promise<void>;
  /**
   * Compares the run with the journal, its second record of paid requests. A checkpoint on a database server needs no
   * journal. Called before a run is resumed, published, superseded or pruned.
   * @returns `made` if the journal was missing or empty and was written again.
   * @throws ConfigError `CHECKPOINT_BEHIND` when more was paid for than this checkpoint knows; `JOURNAL_DAMAGED`.
   */
  verifyPaid(run: string): Promise<'whole' | 'made'>;
  /**
   * Every chunk that a dead process left `uploading` becomes `ambiguous` with the doubt `no-reply`. Every search with
   * only an intent becomes `ambiguous` too. Returns the number of these chunks.
   */
  recordInterrupted(run: string): Promise<number>;

  /**
   * Adds a `cut` chunk with the run's next number, from 1. A chunk of the source must begin after all its other chunks,
   * and is added only while the source is not cut completely. A chunk of a round must begin after all other chunks of
   * the round, and the round must be the first open one. Not synced: the intent, which comes before the upload, is
   * synced.
   * @param at the time of the change in epoch milliseconds, as in the other methods; without it, no time is kept.
   */
  recordCut(run: string, chunk: NewChunk, at?: number): Promise<ChunkRow>;
  /** The source is cut completely: fixes the run's number of chunks. */
  recordAllCut(run: string): Promise<void>;
  /**
   * In an open run, a `cut` or `ambiguous` chunk of several records to `split`. Adds and returns the two `cut` chunks
   * that replace it, with the run's next two numbers.
   */
  recordSplit(
    run: string,
    chunk: number,
    halves: readonly [NewChunk, NewChunk],
  ): Promise<readonly [ChunkRow, ChunkRow]>;
  /** A `cut` or `ambiguous` chunk of one record to `refused`, with the service's text. Its counts are one failed record. */
  recordRefused(run: string, chunk: number, refusal: string): Promise<ChunkRow>;

  /**
   * `cut` or `ambiguous` to `uploading`. Adds the row of the attempt and reserves its records in the budget (rule
   * "Intent first", docs/architecture.md#intent-first). Returns the attempt; its file name contains its number.
   * @throws GuardError `BUDGET_REACHED` when a cap would be exceeded; the state is then unchanged. What to do is told
   *   by its facts `cap` (`perRun`, `perDay` or `perMonth`), `limit`, `spent` and `records`. TroubleError when the journal
   *   cannot be written; the attempt is then `dropped`.
   */
  recordIntent(
    run: string,
    chunk: number,
    fileName: AttemptFileName,
    at: number,
    budget: Budget,
  ): Promise<Upload>;
  /** `uploading` to `submitted`: the reply was read. */
  recordAccepted(run: string, chunk: number, reply: AcceptedReply, at: number): Promise<ChunkRow>;
  /**
   * `uploading` back to `cut`, for an upload that was certainly not accepted; its records are refunded to the budget.
   * To `ambiguous` if an earlier attempt is still ambiguous.
   */
  recordDropped(run: string, chunk: number, at: number): Promise<void>;
  /** `uploading` to `ambiguous`. */
  recordAmbiguous(run: string, chunk: number, at: number, doubt: Doubt): Promise<void>;
  /**
   * A person has found the chunk's folio: `ambiguous`, or `unprocessed` because it was held or its folio was lost or
   * given up, to `submitted`. The folio belongs to the attempt that had it already, or else to the named one if
   * that is ambiguous, or else to the newest ambiguous one, or else to the newest accepted one. Parts of another folio,
   * or of a chunk that a person gave up, are deleted. The chunk has no counts until it is finished again. Rows from it on
   * become unmerged; all rows do if the run has no columns yet. The chunk's round and the rounds after it are open again. A
   * `done` or `withheld` run becomes `open`.
   */
  recordAdopted(run: string, chunk: number, reply: AdoptedReply, at: number): Promise<void>;
  /**
   * The service knows a lost folio again: `unprocessed` to `submitted`. Changes the run like `recordAdopted`, but keeps
   * the stored parts. Not for a pruned run.
   */
  recordFound(run: string, chunk: number): Promise<void>;
  /**
   * Marks the run as `mixed`, and as a rehearsal, for good: its replies contradict each other on whether a local service
   * answers.
   */
  recordMixed(run: string): Promise<void>;

  /**
   * `submitted` to `finished`, with the counts and the listed parts. Listed parts that are already stored stay stored,
   * for a folio that was lost and found. Not synced: the folio would be polled again.
   */
  recordFinished(
    run: string,
    chunk: number,
    counts: FolioCounts,
    parts: readonly PartReference[],
    at?: number,
  ): Promise<ChunkRow>;
  /** The listed parts of a `finished` or `downloaded` chunk: successful ones first, then by number. */
  listedParts(run: string, chunk: number): Promise<readonly PartReference[]>;
  /** Stores listed parts of a `finished` chunk, all or none. Not synced: they would be fetched again. */
  recordParts(run: string, chunk: number, parts: readonly StoredPart[]): Promise<void>;
  /**
   * A `finished` or `downloaded` chunk to `downloaded`. The parts that were fetched once more replace all its listed
   * and stored parts. If it is a chunk of the source, the rows from it on become unmerged.
   */
  recordRefetched(
    run: string,
    chunk: number,
    counts: FolioCounts,
    parts: readonly StoredPart[],
  ): Promise<ChunkRow>;
  /** `finished` to `downloaded`: all listed parts are stored. A `downloaded` chunk stays `downloaded`. */
  recordDownloaded(run: string, chunk: number, at?: number): Promise<ChunkRow>;
  /**
   * A chunk that is not being uploaded, refused or split, and none of whose rows is merged, to `unprocessed`; stored
   * parts are kept.
   */
  recordUnprocessed(run: string, chunk: number, cause: UnprocessedCause): Promise<ChunkRow>;

  /** Closes a round: all its chunks are answered or given up, and its answers count now. All rows become unmerged. */
  recordRoundClosed(run: string, round: number): Promise<void>;
  /**
   * A paid search is about to be sent; its record is reserved in the budget. Not for a record that has a search
   * already, except a `dropped` one.
   * @throws GuardError `BUDGET_REACHED` when a cap would be exceeded; the state is then unchanged.
   */
  recordSearchIntent(run: string, record: number, at: number, budget: Budget): Promise<void>;
  /** A search with an intent ends: `answered` with values or null, or `dropped` or `ambiguous` without values. */
  recordSearchEnd(
    run: string,
    record: number,
    end:
      | { readonly state: 'answered'; readonly values: Readonly<Record<string, string>> | null }
      | { readonly state: 'dropped' | 'ambiguous' },
  ): Promise<void>;

  /**
   * A paid search that belongs to no run is about to be sent; its record is reserved in the budget of its pipeline, in
   * which `perRun` does not count.
   * @throws GuardError `BUDGET_REACHED` when a cap would be exceeded; the state is then unchanged.
   */
  recordSingleSearchIntent(search: NewSingleSearch, budget: Budget): Promise<void>;
  /** A search that belongs to no run ends. `local`: whether a local service has answered. */
  recordSingleSearchEnd(
    id: string,
    end:
      | { readonly state: 'answered'; readonly local: boolean }
      | { readonly state: 'dropped' | 'ambiguous' },
  ): Promise<void>;

  /**
   * Fixes the columns that the service adds, for the run and, when `learned`, for the pipeline on this service. The
   * columns may change only while nothing is merged.
   */
  recordColumns(run: string, columns: readonly string[], learned: boolean): Promise<void>;
  /**
   * The service has added columns: fixes a longer list, which begins with the columns of the run, for the run and for
   * the pipeline on this service. All rows become unmerged.
   */
  recordColumnsAdded(run: string, columns: readonly string[]): Promise<void>;
  /** Fixes the join method of the run. Later calls may only add judged columns. */
  recordJoin(run: string, join: JoinMethod): Promise<void>;
  /**
   * The config describes the results differently now: deletes the join method and the columns of the run, and the
   * columns that the pipeline has learned on this service. All rows become unmerged.
   */
  recordUnjoined(run: string): Promise<void>;
  /**
   * The work file contains the rows of the stretch and ends with them. Stretches come in the order of the source, and
   * every chunk of the source with records up to the stretch's end is answered. Not synced: the work file would be cut
   * back (rule "A file appears whole", docs/architecture.md#a-file-appears-whole).
   */
  recordMerged(run: string, stretch: Stretch, at?: number): Promise<void>;
  /** Stretches that end at this record or after it are no longer in the work file. */
  recordUnmerged(run: string, fromRecord: number): Promise<void>;

  /**
   * `open` to `withheld`: the output is complete and is not published. Also `withheld` to `withheld`, after its rows
   * were written again.
   * @param segment the answers that the run has bought; replaces an older segment of the run.
   */
  recordWithheld(run: string, withheld: Withheld, at: number, segment?: Segment): Promise<void>;
  /**
   * `open` or `withheld` to `done`, without a publication: a sink of the embedding program has all rows.
   * @param segment the answers that the run has bought; replaces an older segment of the run.
   */
  recordConfirmed(run: string, confirmed: Confirmed, at: number, segment?: Segment): Promise<void>;
  /**
   * `open`, `publishing` or `withheld`, or `done` when the output is written again, to `publishing`. Gives the
   * publication the pipeline's next number, which is never used twice; the same file committed again keeps its number.
   * @param values replace the run's frozen values with the same keys.
   * @param above the highest number that loaders may have seen; the new number is higher.
   */
  recordPublishing(
    run: string,
    publication: NewPublication,
    values?: NewRun['frozen'],
    above?: number,
  ): Promise<Publication>;
  /**
   * `publishing` to `done`, and the facts of its night become part of the history. After a partial publication: to
   * `open`, and the publication becomes the run's `partial`.
   * @param stamp the stamp of the output in place.
   * @param segment the answers that the run has bought; replaces an older segment of the run.
   */
  recordDone(run: string, at: number, stamp?: string, segment?: Segment): Promise<void>;
  /**
   * Adds a segment of answers; replaces an older segment of the same run or import.
   * @param replaced the id of that older segment; if there is no segment with this id, nothing is changed.
   * @returns whether the segment was added.
   */
  recordSegment(segment: Segment, replaced?: string): Promise<boolean>;
  /** The answers of these segments are no longer taken. */
  recordSegmentsForgotten(ids: readonly string[]): Promise<void>;
  /**
   * `publishing` back to `open`, because the work file was lost before it was put in place. All rows become unmerged;
   * not after a partial publication, which has its own work file.
   */
  recordUnpublished(run: string): Promise<void>;
  /** Replaces what was recorded of an earlier load. The run need not be done: a partial publication is loaded too. */
  recordLoad(run: string, load: RecordedLoad): Promise<void>;
  /** What was kept of an upload in parts under this name of the output store; undefined if there is none. */
  outputUpload(name: string): Promise<string | undefined>;
  /** Keeps what the output store needs to go on with its upload in parts after a kill. Null forgets it. */
  recordOutputUpload(name: string, upload: string | null): Promise<void>;
  /** `done` or `withheld` back to `open`, without its publication, to send failed records again. */
  recordReopened(run: string): Promise<void>;
  /**
   * Deletes the chunks and parts of a `done`, `withheld` or `superseded` run, and the values of its searches. Keeps its
   * uploads, its searches and what was paid for them.
   */
  recordPruned(run: string, at: number): Promise<void>;

  close(): Promise<void>;
}

/** From a cut chunk to a submitted one. */
export type UploadChanges = Pick<
  Checkpoint,
  'recordIntent' | 'recordAccepted' | 'recordDropped' | 'recordAmbiguous' | 'recordInterrupted'
>;

/** From a submitted chunk to its merged rows, and the read of the parts that a download expects. */
export type ResultChanges = Pick<
  Checkpoint,
  'recordFinished' | 'recordParts' | 'recordDownloaded' | 'recordMerged' | 'listedParts'
>;
