/** The reading half of the port: what the process that writes and those that only look may ask. */
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
  /** The newest run of a pipeline whatever its state, superseded ones left out. */
  latestRun(pipeline: string): Promise<Run | undefined>;
  /** The `done` runs of a pipeline on a service whose source had this content, newest first. */
  doneRuns(pipeline: string, service: string, sourceSha256: string): Promise<readonly Run[]>;
  run(id: string): Promise<Run | undefined>;
  /** Newest first; of one pipeline or of all. */
  runs(pipeline?: string): Promise<readonly Run[]>;
  /** Every file that a pipeline has published, partial ones too, newest first. */
  publications(pipeline: string): Promise<readonly PublishedFile[]>;

  chunk(run: string, number: number): Promise<ChunkRow | undefined>;
  /** At most `limit` chunks in one of the states with a number above `after`, by number; of all rounds. */
  chunksIn(
    run: string,
    states: readonly ChunkState[],
    after: number,
    limit: number,
  ): Promise<readonly ChunkRow[]>;
  /** The round's next chunk in the order of the source: the first, not split, that begins behind the record. */
  nextChunk(run: string, round: number, afterRecord: number): Promise<ChunkRow | undefined>;
  /** The chunk of a round, not split, that comes last in the source. */
  lastCut(run: string, round: number): Promise<ChunkRow | undefined>;
  /** The highest round that has chunks; 0 where none was begun. */
  lastRound(run: string): Promise<number>;
  /** The last merged chunk in the order of the source, of those that begin before a record or of all. */
  lastMerged(run: string, beforeRecord?: number): Promise<ChunkRow | undefined>;
  /** Numbers of the records picked for a chunk of a round, ascending; undefined for the source's own chunks. */
  pickedRecords(run: string, chunk: number): Promise<readonly number[] | undefined>;

  /** An accepted upload of which the service counted other records than were sent. */
  misreadUpload(run: string): Promise<Upload | undefined>;
  /**
   * How many uploads have ended with a doubt since the newest one that was accepted or adopted ended; of
   * `redirected` ones, since the newest one that was accepted began.
   */
  doubtsInRow(run: string, doubt: Doubt): Promise<number>;
  /** Who has answered a run; nobody where the run is not known. */
  replyKinds(run: string): Promise<ReplyKinds>;
  /** Every attempt to upload the chunk, oldest first; empty before its first one. */
  attempts(run: string, chunk: number): Promise<readonly Upload[]>;
  /** All attempts of at most `limit` chunks with a number above `after`, by chunk and attempt. */
  uploads(run: string, after: number, limit: number): Promise<readonly Upload[]>;
  /** The upload, of any run on this service, that was answered with the folio; the first where there are more. */
  uploadOf(service: string, folio: string): Promise<Upload | undefined>;
  /** Parts stored for a chunk: successful ones first, then by part number. */
  parts(run: string, chunk: number): Promise<readonly StoredPart[]>;
  /** At most `limit` searches of a run for records above `after`, by record; dropped ones too. */
  searches(run: string, after: number, limit: number): Promise<readonly Search[]>;

  tally(run: string): Promise<Tally>;
  /** Of a run, and of its pipeline in all runs on a day and in its month; without a run only the latter two. */
  spending(pipeline: string, run: string | null, day: string): Promise<Spending>;
  /** Columns that this pipeline's results have had on this service, or undefined before the first success. */
  knownColumns(pipeline: string, service: string): Promise<readonly string[] | undefined>;
}
