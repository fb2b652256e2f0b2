/** The context of a run: everything that its stages work with. Each stage names the part that it needs. */
import type { PredictionApi } from './api/prediction-api.js';
import type { Checkpoint, ChunkRow, RowCounts } from './checkpoint/checkpoint.js';
import type { HeldLock } from './checkpoint/pipeline-lock.js';
import type { Config } from './config/schema.js';
import type { DeltaStore } from './delta/delta-store.js';
import type { FoliopipeError, UntrustedError } from './errors.js';
import type { AtFailpoint } from './failpoints.js';
import type { ReasonCounter } from './failure-reasons.js';
import type { OutputStore } from './files/output-store.js';
import type { RunFiles } from './files/run-files.js';
import type { KnownWork } from './files/work-file.js';
import type { LoadTarget } from './load/load-target.js';
import type { Logger } from './logger.js';
import type { JobEvent } from './progress/events.js';
import type { AnswerStore, ChosenAnswers } from './reuse/answer-store.js';
import type { Clock } from './streams/clock.js';
import type { Permits } from './streams/permits.js';
import type { JoinMethod, PartReference, Source, StoredPart } from './types.js';

/** Parts of a chunk that are fetched once more, beside the stored ones, and then replace them. */
export interface PartReplacement {
  /** The stored parts, some or all replaced by newly fetched ones. */
  readonly parts: readonly StoredPart[];
  /**
   * Fetches one of the stored parts.
   * @throws MismatchError when the parts do not balance with it; FolioLostError when the service no longer has it.
   */
  fetchOne(part: PartReference): Promise<void>;
  /**
   * Asks for the folio once more and fetches all parts that are listed then.
   * @throws the errors of `fetchOne`; UntrustedError `FOLIO_WENT_BACK`.
   */
  fetchAll(): Promise<void>;
  /**
   * Records the new parts in place of the stored ones, and removes the files of the replaced parts.
   * @returns the chunk, `downloaded`.
   */
  commit(): Promise<ChunkRow>;
  /** Removes the newly fetched files; the stored parts stay. Does nothing once `commit` may have recorded the new ones. */
  discard(): Promise<void>;
}

/** Prepares to fetch the parts of a chunk again. Only the methods of the replacement send requests. */
export type Refetch = (chunk: ChunkRow) => Promise<PartReplacement>;

/** What all stages of a run share. */
export interface RunContext {
  /** The run's id. */
  readonly id: string;
  readonly config: Config;
  readonly source: Source;
  /** The number of records that are sent first, and checked before the rest is paid for; 0 for no canary. */
  readonly canary: number;
  /** The number of records that the run sends. */
  readonly toSend: number;
  /** The records that take an answer that is known; null if every record is sent. */
  readonly chosen: ChosenAnswers | null;
  /**
   * Whether chunk files are kept until the run is published. The records of a chunk are then read from its file, which
   * holds the sent columns, else from the source, which holds all.
   */
  readonly keepsChunks: boolean;
  /** The answers of earlier runs. */
  readonly answers: AnswerStore;
  readonly checkpoint: Checkpoint;
  /** The pipeline's lock, which lets this process send. */
  readonly lock: Pick<HeldLock, 'expectHeld' | 'isHeld'>;
  readonly files: RunFiles;
  /** The store for publications. */
  readonly output: OutputStore;
  /** What is kept of the last publications, for the deltas of the next ones. */
  readonly deltas: DeltaStore;
  /** The database into which the publication is loaded; null if nothing is loaded. */
  readonly loadTarget: LoadTarget | null;
  readonly api: PredictionApi;
  /** Undefined if no service is asked: then a damaged part or a failed proof is final. */
  readonly refetch: Refetch | undefined;
  /** A permit for each folio open at the service: taken before a POST, released when FINISHED is committed. */
  readonly folioPermits: Permits;
  /** Aborts the run: on the caller's signal, at the deadline, or when a stage fails. */
  readonly controller: AbortController;
  readonly signal: AbortSignal;
  /** The first error that stopped single chunks only. The other chunks go on, and the run ends with this error. */
  readonly deferred: { error: FoliopipeError | undefined };
  /** Once stopped, this process starts no more uploads; chunks that are already sent are still collected. */
  readonly uploads: {
    stopped: boolean;
    /**
     * Uploads between the commits of their intent and of their outcome. The run is closed only after they have ended.
     */
    readonly inFlight: Set<Promise<unknown>>;
    /** Replies that could be recorded nowhere, and why. The run ends with an error that names them all. */
    readonly unrecorded: { readonly chunk: number; readonly folio: string; readonly cause: unknown }[];
  };
  /** The state of the join, shared by all stages. */
  readonly join: {
    /** Null until the first join has decided it. */
    method: JoinMethod | null;
    /** The numbers of chunks that passed before the method was proven. */
    readonly judged: Set<number>;
    /** Columns that a warning has named because some results lack them. */
    readonly lacking: Set<string>;
    /** The running judgement, or the last one. It resolves to an error if a chunk did not pass. */
    judging: Promise<UntrustedError | undefined>;
  };
  /**
   * The rows that merge-results has given in this process, from the first record on, and that its sink has taken.
   * Undefined until it begins with the first record.
   */
  readonly given: {
    rows:
      | {
          readonly counts: RowCounts;
          readonly columns: readonly string[];
          /** Why rows without a prediction have none; undefined if all rows have one. */
          readonly reasons: ReasonCounter | undefined;
        }
      | undefined;
    /** Whether a loop of the program takes the rows now. */
    isTaking: boolean;
    /** Whether the program has closed the run: no more rows can be given. */
    isClosed: boolean;
  };
  /** The hash of the work file; known only if this process has written all of it. */
  readonly work: KnownWork;
  /** For the progress that listeners see; decides nothing. */
  readonly progress: {
    emit(event: JobEvent): void;
    /** The last percentage that the service reported for each open folio, by chunk. */
    readonly percentages: Map<number, number>;
  };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly at: AtFailpoint;
}
