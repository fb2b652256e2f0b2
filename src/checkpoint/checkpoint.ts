/**
 * The port to everything that survives a kill. One named method for each change of state, each one
 * transaction; every method returns a promise, so that a checkpoint on another machine fits behind it. What has
 * resolved survives a power failure too, but for a change called redoable: free work makes it again.
 * A method that changes a row fails with `CheckpointStateError` when no row was in the state it leaves; one that
 * returns a chunk gives it as it then is.
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
  /** Same content under another stamp: replaces the run's source so that the next resume can skip reading. */
  recordSourceStamp(run: string, source: Source): Promise<void>;
  /** `open` or `publishing` to `superseded`. */
  recordSuperseded(run: string, at: number): Promise<void>;
  /**
   * Holds the run to what else is known of it: each paid request is known in two places, unless the checkpoint is on
   * a server that keeps what it was told. To be asked before a run is gone on with, published, superseded or pruned.
   * @returns `made` where the second place was empty, and is filled now.
   * @throws ConfigError `CHECKPOINT_BEHIND` when more was paid for than this checkpoint knows; `JOURNAL_DAMAGED`.
   */
  verifyPaid(run: string): Promise<'whole' | 'made'>;
  /**
   * Every `uploading` chunk of a run, left by a dead process, becomes `ambiguous` without a reply, and so does
   * every search with an intent; returns how many chunks.
   */
  recordInterrupted(run: string): Promise<number>;

  /**
   * Adds a `cut` chunk under the run's next number: one more than its highest, from 1. A chunk of the source begins
   * behind all others of it, and is added only while the source is not cut whole. A chunk of a round begins behind all
   * others of the round, which is the first unsettled one. Redoable: its upload begins with the intent.
   */
  recordCut(run: string, chunk: NewChunk): Promise<ChunkRow>;
  /** The whole source is cut: fixes the run's number of chunks. */
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
  /** A `cut` or `ambiguous` chunk of one record to `refused`, with what the service said. */
  recordRefused(run: string, chunk: number, refusal: string): Promise<ChunkRow>;

  /**
   * `cut` or `ambiguous` to `uploading`, with the intent's row, and its records taken out of the budget (law 2);
   * returns the attempt, its file name put together with its number.
   * @throws GuardError `BUDGET_REACHED` when a cap would be passed; nothing is changed then. TroubleError when the
   *   second place in which it is to be known cannot be written: the attempt is `dropped` then.
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
   * `uploading` back to `cut`: certainly not accepted, so the budget has its records back. To `ambiguous` where
   * an earlier attempt is still so.
   */
  recordDropped(run: string, chunk: number, at: number): Promise<void>;
  /** `uploading` to `ambiguous`. */
  recordAmbiguous(run: string, chunk: number, at: number, doubt: Doubt): Promise<void>;
  /**
   * `ambiguous`, or `unprocessed` because it was held or its folio lost, to `submitted`: a person has found its
   * folio. The attempt that was answered with it, or else its newest ambiguous, or else accepted, one is the
   * accepted one; parts of another folio are forgotten. Chunks from it on are no longer merged, or none where the
   * run has no columns yet; a round that it belongs to is unsettled together with those after it, and a `done` run
   * is `open`.
   */
  recordAdopted(run: string, chunk: number, reply: AcceptedReply, at: number): Promise<void>;
  /**
   * `unprocessed` because its folio was lost to `submitted`: the service knows the folio again. The run is changed
   * as by `recordAdopted`; parts that are stored stay so. Not of a run that is pruned.
   */
  recordFound(run: string, chunk: number): Promise<void>;
  /** A reply says otherwise than the run's uploads whether a local service answers: the run is `mixed` for good. */
  recordMixed(run: string): Promise<void>;

  /**
   * `submitted` to `finished`, with the counts and the parts that cover them; of a folio that was lost and found,
   * those that are listed again stay stored. Redoable: the folio is asked again.
   */
  recordFinished(
    run: string,
    chunk: number,
    counts: FolioCounts,
    parts: readonly PartReference[],
  ): Promise<ChunkRow>;
  /** Parts listed for a `finished` or `downloaded` chunk, successful ones first, then by number. */
  listedParts(run: string, chunk: number): Promise<readonly PartReference[]>;
  /** Stores one part that is listed for a `finished` chunk. Redoable: the part is fetched again. */
  recordPart(run: string, chunk: number, part: StoredPart): Promise<void>;
  /**
   * A `finished` or `downloaded` chunk to `downloaded`, with what was fetched of it once more in place of all that
   * was listed and stored. Chunks of the source from it on are no longer merged.
   */
  recordRefetched(
    run: string,
    chunk: number,
    counts: FolioCounts,
    parts: readonly StoredPart[],
  ): Promise<ChunkRow>;
  /** `finished` to `downloaded`, whatever the service forgets; a chunk that is `downloaded` already stays so. */
  recordDownloaded(run: string, chunk: number): Promise<ChunkRow>;
  /** A chunk that is neither being uploaded, refused, split nor merged, to `unprocessed`; stored parts stay so. */
  recordUnprocessed(run: string, chunk: number, cause: UnprocessedCause): Promise<ChunkRow>;

  /** A round whose chunks are all answered or given up counts from now on; nothing is merged any more. */
  recordRoundSettled(run: string, round: number): Promise<void>;
  /**
   * A paid search is about to be sent, its record taken out of the budget. Not for a record with a search that
   * is not `dropped`.
   * @throws GuardError `BUDGET_REACHED` when a cap would be passed; nothing is changed then.
   */
  recordSearchIntent(run: string, record: number, at: number, budget: Budget): Promise<void>;
  /** A search with an intent ends: `answered` with its values or null, `dropped` or `ambiguous` without. */
  recordSearchEnd(
    run: string,
    record: number,
    end:
      | { readonly state: 'answered'; readonly values: Readonly<Record<string, string>> | null }
      | { readonly state: 'dropped' | 'ambiguous' },
  ): Promise<void>;

  /**
   * Fixes the added columns for the run and, when `learned`, for the pipeline on this service. Other ones than before,
   * or the first ones, only while nothing is merged.
   */
  recordColumns(run: string, columns: readonly string[], learned: boolean): Promise<void>;
  /** Fixes the way results are joined in this run; what is judged of the columns given back may grow later. */
  recordJoin(run: string, join: JoinMethod): Promise<void>;
  /**
   * The way results are joined and the added columns are fixed anew, the columns that the pipeline has learned on this
   * service included, and nothing is merged: the config says something else of what comes back.
   */
  recordUnjoined(run: string): Promise<void>;
  /**
   * The work file holds the chunk whole and ends at `mergedEnd`; `sha256` is of what it has gained. The source's
   * chunks are merged in its order; those of a round never. Redoable: the work file is cut back (law 7).
   */
  recordMerged(
    run: string,
    chunk: number,
    counts: ChunkCounts,
    mergedEnd: number,
    sha256: string,
  ): Promise<void>;
  /** Chunks that begin at this record or behind it are no longer in the work file. */
  recordUnmerged(run: string, fromRecord: number): Promise<void>;

  /**
   * `open`, or `done` when it is written again, to `publishing` (or `publishing` again). Gives the publication the
   * pipeline's next number, which no other has or will have; the same file committed again keeps the number that it
   * has.
   * @param values take the place of the run's frozen ones: where it is published is what it is held to from now on.
   */
  recordPublishing(run: string, publication: NewPublication, values?: NewRun['frozen']): Promise<Publication>;
  /**
   * `publishing` to `done`; to `open`, without its publication, where that is a partial one.
   * @param stamp of the output where it now stands.
   */
  recordDone(run: string, at: number, stamp?: string): Promise<void>;
  /**
   * `publishing` back to `open`: the work file was lost before it was put in place. Nothing is merged then,
   * unless the publication was a partial one, which has a work file of its own.
   */
  recordUnpublished(run: string): Promise<void>;
  /** `done` back to `open`, without its publication: failed records go out again. */
  recordReopened(run: string): Promise<void>;
  /**
   * A `done` or `superseded` run's chunks and parts, and what its searches have found, are forgotten; that they
   * were paid for, as its uploads were, is not.
   */
  recordPruned(run: string, at: number): Promise<void>;

  close(): Promise<void>;
}
