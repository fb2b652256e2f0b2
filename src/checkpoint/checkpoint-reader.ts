/** The reading half of the checkpoint port, for the process that writes and for processes that only read. */

import type { FailureReason } from '../failure-reasons.js';
import type { Choice, Doubt, Segment, StoredPart } from '../types.js';
import type { Night } from './night.js';
import type { PublishedFile, RecordedLoad } from './publication.js';
import type {
  ChunkRow,
  ChunkState,
  ReplyKinds,
  Run,
  RunHead,
  Search,
  SingleSearch,
  Spending,
  Stretch,
  Tally,
  Upload,
  UploadSum,
} from './state.js';

/**
 * When a chunk passed each step, in epoch milliseconds; null for a step that it has not passed, or of an older version.
 */
export interface ChunkTimes
  extends Pick<
    ChunkRow,
    'number' | 'round' | 'records' | 'state' | 'attempt' | 'folio' | 'counts' | 'cause'
  > {
  readonly cutAt: number | null;
  /** When its last upload began, and when its reply was read. */
  readonly uploadAt: number | null;
  readonly submittedAt: number | null;
  readonly finishedAt: number | null;
  readonly downloadedAt: number | null;
  /** When its last record was in the work file. Chunks of rounds have none. */
  readonly mergedAt: number | null;
}

/** Records that this run has sent and whose answer is here, and how many of them failed. */
export interface Answered {
  readonly records: number;
  readonly failed: number;
}

/** Records paid for on a day. */
export interface SpentOnDay {
  readonly day: string;
  readonly records: number;
}

/** The reading half of the checkpoint. */
export interface CheckpointReader {
  /**
   * The newest run of a pipeline that is `open` or `publishing`.
   * @param limit finds only samples with this limit (`Source.limit`); without it, no sample is found.
   */
  unfinishedRun(pipeline: string, limit?: number): Promise<Run | undefined>;
  /**
   * The run that `last` names: the unfinished one, else the one that was published last, or was withheld or confirmed
   * after that. An older run that is published again is the last one. Never a superseded run.
   * @param limit as in `unfinishedRun`.
   */
  latestRun(pipeline: string, limit?: number): Promise<Run | undefined>;
  /** The `done` and `withheld` runs of a pipeline on a service whose source had this content, newest first. */
  doneRuns(pipeline: string, service: string, sourceSha256: string): Promise<readonly Run[]>;
  run(id: string): Promise<Run | undefined>;
  /** The last one added first, whatever the clock said; of one pipeline or of all. Includes samples. */
  runs(pipeline?: string): Promise<readonly Run[]>;
  /** The heads of the runs of all pipelines, newest first. Includes samples. */
  runHeads(): Promise<readonly RunHead[]>;
  /** The highest `maxAge` and `failedAge` in the choices of all runs that are not pruned; 0 without such a run. */
  longestAges(): Promise<Pick<Choice, 'maxAge' | 'failedAge'>>;
  /**
   * Every file that a pipeline has published, including partial ones and samples, newest first. It is in the list from
   * `recordPublishing` on, and has its stamp from `recordDone` on.
   */
  publications(pipeline: string): Promise<readonly PublishedFile[]>;
  /**
   * The facts of the last whole outputs of a pipeline, newest publication first. A run that was published several times
   * appears several times.
   * @param upTo leaves out publications with higher numbers.
   */
  nights(pipeline: string, limit: number, upTo?: number): Promise<readonly Night[]>;
  /** The facts of the last whole output of a run; undefined if it has none. */
  nightOf(run: string): Promise<Night | undefined>;
  /** The last load of a run's publication that was recorded. */
  lastLoad(run: string): Promise<RecordedLoad | undefined>;

  chunk(run: string, number: number): Promise<ChunkRow | undefined>;
  /** Chunks of all rounds in one of the states, ordered by number: at most `limit`, with numbers above `after`. */
  chunksIn(
    run: string,
    states: readonly ChunkState[],
    after: number,
    limit: number,
  ): Promise<readonly ChunkRow[]>;
  /** The first chunk of a round, in the order of the source, that ends after the record; split ones are left out. */
  nextChunk(run: string, round: number, afterRecord: number): Promise<ChunkRow | undefined>;
  /** The last chunk of a round, in the order of the source; split ones are left out. */
  lastCut(run: string, round: number): Promise<ChunkRow | undefined>;
  /** The highest round that has chunks; 0 if no round has. */
  lastRound(run: string): Promise<number>;
  /** The last stretch in the work file; with `beforeRecord`, only stretches that begin before it count. */
  lastStretch(run: string, beforeRecord?: number): Promise<Stretch | undefined>;
  /** The first stretch in the work file that begins after the record. */
  nextStretch(run: string, afterRecord: number): Promise<Stretch | undefined>;
  /**
   * When chunks of all rounds passed their steps, by number: at most `limit`, with numbers above `after`. Split ones are
   * left out.
   */
  chunkTimes(run: string, after: number, limit: number): Promise<readonly ChunkTimes[]>;
  /** Why rows in the work file have no prediction, the commonest reasons first. */
  failureReasons(run: string): Promise<readonly FailureReason[]>;
  /** The numbers of the records in a chunk, ascending; undefined if they are simply the source's next ones. */
  pickedRecords(run: string, chunk: number): Promise<readonly number[] | undefined>;

  /** An accepted upload for which the service counted more or fewer records than were sent. */
  misreadUpload(run: string): Promise<Upload | undefined>;
  /**
   * The number of uploads that ended with this doubt after the newest accepted upload ended. For `redirected`: after
   * the newest accepted upload began.
   */
  doubtsInRow(run: string, doubt: Doubt): Promise<number>;
  /** Which kinds of service have answered a run; all false if the run is not known. */
  replyKinds(run: string): Promise<ReplyKinds>;
  /** Every attempt to upload the chunk, oldest first; empty before the first attempt. */
  attempts(run: string, chunk: number): Promise<readonly Upload[]>;
  /** All attempts of at most `limit` chunks with a number above `after`, ordered by chunk and attempt. */
  uploads(run: string, after: number, limit: number): Promise<readonly Upload[]>;
  /** Sums of the plain uploads: one of those that a local service accepted, and one of all others. */
  uploadSums(run: string): Promise<readonly UploadSum[]>;
  /** Like `uploads`, but only of chunks that `uploadSums` leaves out. */
  unusualUploads(run: string, after: number, limit: number): Promise<readonly Upload[]>;
  /** The first upload, of any run on this service, to which the service replied with the folio. */
  uploadOf(service: string, folio: string): Promise<Upload | undefined>;
  /** The stored parts of a chunk: successful ones first, then by part number. */
  parts(run: string, chunk: number): Promise<readonly StoredPart[]>;
  /** At most `limit` searches of a run for records above `after`, including dropped ones, ordered by record. */
  searches(run: string, after: number, limit: number): Promise<readonly Search[]>;

  /**
   * At most `limit` searches that belong to no run, with ids above `after`, ordered by id; of one pipeline or of all.
   * Includes dropped ones.
   */
  singleSearches(
    pipeline: string | undefined,
    after: string,
    limit: number,
  ): Promise<readonly SingleSearch[]>;

  tally(run: string): Promise<Tally>;
  /** Records whose answer is here, and how many of them failed. Only the last answer of a record counts. */
  answered(run: string): Promise<Answered>;
  /**
   * Records paid for by a run (0 for null), and by the pipeline on a day and in its month: by all its runs and by
   * searches that belong to none.
   * @param service its account: if pipelines share it, day and month count all of them. SQLite ignores it.
   */
  spending(pipeline: string, run: string | null, day: string, service?: string): Promise<Spending>;
  /**
   * Records paid for by a pipeline on each day from this one on, ambiguous ones included, oldest day first. Leaves out
   * rehearsals, and searches that a local service has answered.
   * @param day such as `2026-11-21`.
   */
  spendingByDay(pipeline: string, day: string): Promise<readonly SpentOnDay[]>;
  /** The columns of this pipeline's results on this service; undefined before the first success. */
  knownColumns(pipeline: string, service: string): Promise<readonly string[] | undefined>;
  /** All segments of bought answers; the one with the newest answer first. */
  segments(): Promise<readonly Segment[]>;
}
