/** The reading half of the port: for the process that writes, and for those that only read. */
import type { Doubt, StoredPart } from '../types.js';
import type {
  ChunkRow,
  ChunkState,
  PublishedFile,
  ReplyKinds,
  Run,
  Search,
  Spending,
  Tally,
  Upload,
} from './state.js';

export interface CheckpointReader {
  /** The newest run of a pipeline that is `open` or `publishing`. */
  unfinishedRun(pipeline: string): Promise<Run | undefined>;
  /** The newest run of a pipeline that is not `superseded`. */
  latestRun(pipeline: string): Promise<Run | undefined>;
  /** The `done` runs of a pipeline on a service whose source had this content, newest first. */
  doneRuns(pipeline: string, service: string, sourceSha256: string): Promise<readonly Run[]>;
  run(id: string): Promise<Run | undefined>;
  /** Newest first; of one pipeline or of all. */
  runs(pipeline?: string): Promise<readonly Run[]>;
  /** Every file that a pipeline has published, including partial ones, newest first. */
  publications(pipeline: string): Promise<readonly PublishedFile[]>;

  chunk(run: string, number: number): Promise<ChunkRow | undefined>;
  /** At most `limit` chunks in one of the states with a number above `after`, of all rounds, ordered by number. */
  chunksIn(
    run: string,
    states: readonly ChunkState[],
    after: number,
    limit: number,
  ): Promise<readonly ChunkRow[]>;
  /** The round's next chunk in the order of the source: the first, not split, that begins after the record. */
  nextChunk(run: string, round: number, afterRecord: number): Promise<ChunkRow | undefined>;
  /** The chunk of a round, not split, that is last in the order of the source. */
  lastCut(run: string, round: number): Promise<ChunkRow | undefined>;
  /** The highest round that has chunks; 0 if none was begun. */
  lastRound(run: string): Promise<number>;
  /** The last merged chunk in the order of the source; with a record, of the chunks that begin before it. */
  lastMerged(run: string, beforeRecord?: number): Promise<ChunkRow | undefined>;
  /** The numbers of the records in a chunk of a round, ascending; undefined for the source's own chunks. */
  pickedRecords(run: string, chunk: number): Promise<readonly number[] | undefined>;

  /** An accepted upload in which the service counted another number of records than was sent. */
  misreadUpload(run: string): Promise<Upload | undefined>;
  /**
   * The number of uploads that ended with this doubt after the newest accepted one ended; for `redirected`, after the
   * newest accepted one began.
   */
  doubtsInRow(run: string, doubt: Doubt): Promise<number>;
  /** Which kinds of service have answered a run; none if the run is not known. */
  replyKinds(run: string): Promise<ReplyKinds>;
  /** Every attempt to upload the chunk, oldest first; empty before its first one. */
  attempts(run: string, chunk: number): Promise<readonly Upload[]>;
  /** All attempts of at most `limit` chunks with a number above `after`, ordered by chunk and attempt. */
  uploads(run: string, after: number, limit: number): Promise<readonly Upload[]>;
  /** The upload, of any run on this service, that was answered with the folio; the first where there are several. */
  uploadOf(service: string, folio: string): Promise<Upload | undefined>;
  /** The stored parts of a chunk: successful ones first, then by part number. */
  parts(run: string, chunk: number): Promise<readonly StoredPart[]>;
  /** At most `limit` searches of a run for records above `after`, including dropped ones, ordered by record. */
  searches(run: string, after: number, limit: number): Promise<readonly Search[]>;

  tally(run: string): Promise<Tally>;
  /** What a run has spent, and its pipeline in all runs on a day and in its month; run null: 0 for the run. */
  spending(pipeline: string, run: string | null, day: string): Promise<Spending>;
  /** The columns of this pipeline's results on this service; undefined before the first success. */
  knownColumns(pipeline: string, service: string): Promise<readonly string[] | undefined>;
}
