/**
 * The port to everything that survives a kill. Each change of state has one method and is one transaction. Every method
 * returns a promise, so that the checkpoint may be on another machine. A change whose promise has resolved survives a
 * power failure. The exception is a change marked "not synced": a power failure may undo it, and the next start makes it
 * again without paying. A change throws `CheckpointStateError` when no row is in a state that allows it. A method that
 * returns a chunk returns it as it is after the change.
 */
import type {
  Doubt,
  FolioCounts,
  JoinMethod,
  PartReference,
  Source,
  StoredPart,
  UnprocessedCause,
} from '../types.js';
import type { CheckpointReader } from './checkpoint-reader.js';
import type {
  AcceptedReply,
  AttemptFileName,
  Budget,
  ChunkCounts,
  ChunkRow,
  NewChunk,
  NewPublication,
  NewRun,
  Publication,
  Upload,
} from './state.js';

export type { CheckpointReader } from './checkpoint-reader.js';
export type * from './state.js';

/** The whole port: reading, and every change of state. */
export interface Checkpoint extends CheckpointReader {
  /** Adds an `open` run. */
  recordRun(run: NewRun): Promise<void>;
  /** The source has the same content under another stamp: replaces it, so that the next resume can skip reading. */
  recordSourceStamp(run: string, source: Source): Promise<void>;
  /** `open` or `publishing` to `superseded`. */
  recordSuperseded(run: string, at: number): Promise<void>;
  /**
   * Compares the run with its second record of paid requests, the journal. A checkpoint on a database server needs
   * none. Called before a run is resumed, published, superseded or pruned.
   * @returns `made` where the journal was missing or empty, and has been written now.
   * @throws ConfigError `CHECKPOINT_BEHIND` when more was paid for than this checkpoint knows; `JOURNAL_DAMAGED`.
   */
  verifyPaid(run: string): Promise<'whole' | 'made'>;
  /**
   * Every `uploading` chunk that a dead process has left becomes `ambiguous` with the doubt `no-reply`, and so does
   * every search with an intent. Returns the number of these chunks.
   */
  recordInterrupted(run: string): Promise<number>;

  /**
   * Adds a `cut` chunk under the run's next number: one more than its highest, from 1. A chunk of the source begins
   * after all others of it, and is added only while the source is not cut completely. A chunk of a round begins after
   * all others of the round, which is the first unsettled one. Not synced: its upload begins with the intent.
   */
  recordCut(run: string, chunk: NewChunk): Promise<ChunkRow>;
  /** The source is cut completely: fixes the run's number of chunks. */
  recordAllCut(run: string): Promise<void>;
  /**
   * A `cut` or `ambiguous` chunk of several records of an open run to `split`; adds the two chunks in its place under
   * the run's next two numbers, and returns them, `cut`.
   */
  recordSplit(
    run: string,
    chunk: number,
    halves: readonly [NewChunk, NewChunk],
  ): Promise<readonly [ChunkRow, ChunkRow]>;
  /** A `cut` or `ambiguous` chunk of one record to `refused`, with the service's text. */
  recordRefused(run: string, chunk: number, refusal: string): Promise<ChunkRow>;

  /**
   * `cut` or `ambiguous` to `uploading`. Adds the row of the attempt and takes its records out of the budget (rule
   * "Intent first", docs/architecture.md#intent-first). Returns the attempt; its file name contains its number.
   * @throws GuardError `BUDGET_REACHED` when a cap would be passed; nothing is changed then. TroubleError when the
   *   journal cannot be written; the attempt is `dropped` then.
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
   * `uploading` back to `cut`, for an upload that was certainly not accepted; the budget gets its records back. To
   * `ambiguous` where an earlier attempt is still ambiguous.
   */
  recordDropped(run: string, chunk: number, at: number): Promise<void>;
  /** `uploading` to `ambiguous`. */
  recordAmbiguous(run: string, chunk: number, at: number, doubt: Doubt): Promise<void>;
  /**
   * `ambiguous`, or `unprocessed` because it was held or its folio was lost, to `submitted`: a person has found its
   * folio. The accepted attempt is the one that was answered with this folio, or else the newest ambiguous one, or
   * else the newest accepted one. Parts of another folio are forgotten. What was merged without this chunk is merged
   * again: chunks from this one on are no longer merged, or no chunk at all where the run has no columns yet. The
   * chunk's round and those after it are no longer settled. A `done` run becomes `open`.
   */
  recordAdopted(run: string, chunk: number, reply: AcceptedReply, at: number): Promise<void>;
  /**
   * `unprocessed` because its folio was lost, to `submitted`: the service knows the folio again. The run is changed as
   * by `recordAdopted`; stored parts are kept. Not for a run that is pruned.
   */
  recordFound(run: string, chunk: number): Promise<void>;
  /** A reply contradicts the run's uploads on whether a local service answers: the run stays `mixed`. */
  recordMixed(run: string): Promise<void>;

  /**
   * `submitted` to `finished`, with the counts and the parts that cover them. Parts that are stored already and listed
   * again stay stored: the folio was lost and found. Not synced: the folio is polled again.
   */
  recordFinished(
    run: string,
    chunk: number,
    counts: FolioCounts,
    parts: readonly PartReference[],
  ): Promise<ChunkRow>;
  /** Parts listed for a `finished` or `downloaded` chunk, successful ones first, then by number. */
  listedParts(run: string, chunk: number): Promise<readonly PartReference[]>;
  /** Stores one part that is listed for a `finished` chunk. Not synced: the part is fetched again. */
  recordPart(run: string, chunk: number, part: StoredPart): Promise<void>;
  /**
   * A `finished` or `downloaded` chunk to `downloaded`. The parts that were fetched once more replace all parts that
   * were listed and stored. Chunks of the source from this one on are no longer merged.
   */
  recordRefetched(
    run: string,
    chunk: number,
    counts: FolioCounts,
    parts: readonly StoredPart[],
  ): Promise<ChunkRow>;
  /** `finished` to `downloaded`: all listed parts are stored. A chunk that is `downloaded` already stays so. */
  recordDownloaded(run: string, chunk: number): Promise<ChunkRow>;
  /** A chunk that is not being uploaded, refused, split or merged, to `unprocessed`; stored parts are kept. */
  recordUnprocessed(run: string, chunk: number, cause: UnprocessedCause): Promise<ChunkRow>;

  /** All chunks of the round are answered or given up: its answers count from now on. No chunk is merged any more. */
  recordRoundSettled(run: string, round: number): Promise<void>;
  /**
   * A paid search is about to be sent; its record is taken out of the budget. Not for a record that has a search,
   * unless that one was `dropped`.
   * @throws GuardError `BUDGET_REACHED` when a cap would be passed; nothing is changed then.
   */
  recordSearchIntent(run: string, record: number, at: number, budget: Budget): Promise<void>;
  /** A search with an intent ends: `answered` with values or null, `dropped` or `ambiguous` without. */
  recordSearchEnd(
    run: string,
    record: number,
    end:
      | { readonly state: 'answered'; readonly values: Readonly<Record<string, string>> | null }
      | { readonly state: 'dropped' | 'ambiguous' },
  ): Promise<void>;

  /**
   * Fixes the columns that the service adds, for the run and, when `learned`, for the pipeline on this service. The
   * first columns, and other ones than before, are allowed only while nothing is merged.
   */
  recordColumns(run: string, columns: readonly string[], learned: boolean): Promise<void>;
  /** Fixes how results are joined in this run; which returned columns are judged may grow later. */
  recordJoin(run: string, join: JoinMethod): Promise<void>;
  /**
   * Forgets how results are joined and which columns are added, and the columns that the pipeline has learned on this
   * service. No chunk is merged any more: the config now describes the results differently.
   */
  recordUnjoined(run: string): Promise<void>;
  /**
   * The work file contains the whole chunk and ends at `mergedEnd`; `sha256` is of the bytes that the chunk has added.
   * Chunks of the source are merged in its order, chunks of a round never. Not synced: the work file is cut back (rule
   * "A file appears whole", docs/architecture.md#a-file-appears-whole).
   */
  recordMerged(
    run: string,
    chunk: number,
    counts: ChunkCounts,
    mergedEnd: number,
    sha256: string,
  ): Promise<void>;
  /** Chunks that begin at this record or after it are no longer in the work file. */
  recordUnmerged(run: string, fromRecord: number): Promise<void>;

  /**
   * `open`, `publishing`, or `done` when the output is written again, to `publishing`. Gives the publication the
   * pipeline's next number, which is never given twice; the same file committed again keeps its number.
   * @param values replace the run's frozen values of the same keys: from now on the run must match these.
   */
  recordPublishing(run: string, publication: NewPublication, values?: NewRun['frozen']): Promise<Publication>;
  /**
   * `publishing` to `done`; a partial publication: to `open`, without its publication.
   * @param stamp of the output where it now is.
   */
  recordDone(run: string, at: number, stamp?: string): Promise<void>;
  /**
   * `publishing` back to `open`: the work file was lost before it was put in place. No chunk is merged any more, except
   * for a partial publication, which has a work file of its own.
   */
  recordUnpublished(run: string): Promise<void>;
  /** `done` back to `open`, without its publication: failed records go out again. */
  recordReopened(run: string): Promise<void>;
  /**
   * Forgets the chunks and parts of a `done` or `superseded` run and the values of its searches. Uploads, searches and
   * what was paid for them are kept.
   */
  recordPruned(run: string, at: number): Promise<void>;

  close(): Promise<void>;
}
