/** What a run works with. Each stage names the part of it that it needs. */
import type { PredictionApi } from './api/prediction-api.js';
import type { Checkpoint } from './checkpoint/checkpoint.js';
import type { Config } from './config/schema.js';
import type { FoliopipeError, UntrustedError } from './errors.js';
import type { AtFailpoint } from './failpoints.js';
import type { OutputStore } from './files/output-store.js';
import type { RunFiles } from './files/run-files.js';
import type { KnownWork } from './files/work-file.js';
import type { Logger } from './logger.js';
import type { Clock } from './streams/clock.js';
import type { Permits } from './streams/permits.js';
import type { JoinMethod, Source } from './types.js';

export interface RunContext {
  /** The run's id. */
  readonly id: string;
  readonly config: Config;
  readonly source: Source;
  /** Records that are sent alone and checked before the rest is paid for; 0: none. */
  readonly canary: number;
  readonly checkpoint: Checkpoint;
  readonly files: RunFiles;
  /** Where publications are put. */
  readonly output: OutputStore;
  readonly api: PredictionApi;
  /** A permit for each folio open at the service: taken before a POST, released when FINISHED is committed. */
  readonly folioPermits: Permits;
  /** Aborts the run: on the caller's signal, at the deadline, or when a stage fails. */
  readonly controller: AbortController;
  readonly signal: AbortSignal;
  /** The first error that stopped only single chunks: the others go on, and the run ends with this error. */
  readonly deferred: { error: FoliopipeError | undefined };
  /** Once stopped, this process uploads nothing more; chunks that are sent already go on. */
  readonly uploads: {
    stopped: boolean;
    /** Uploads between their intent and the commit of their outcome: the run is not closed before they have ended. */
    readonly inFlight: Set<Promise<unknown>>;
  };
  /** How results are joined, as far as it is known; all stages share it. */
  readonly join: {
    method: JoinMethod | null;
    /** Numbers of chunks that have passed before the method was proven. */
    readonly judged: Set<number>;
    /** The judgement that is running, or the last one; it resolves to an error if a chunk did not pass. */
    judging: Promise<UntrustedError | undefined>;
  };
  /** The hash of the work file, if this process has written all of it. */
  readonly work: KnownWork;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly at: AtFailpoint;
}
