/** What a run has at hand; each stage names the part of it that it needs. */
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
  /** Records of the first chunk, which is sent alone and checked before the rest is paid for; 0: none. */
  readonly canary: number;
  readonly checkpoint: Checkpoint;
  readonly files: RunFiles;
  /** Where what is published stands. */
  readonly output: OutputStore;
  readonly api: PredictionApi;
  /** Folios open at the service: taken before a POST, given back when FINISHED is committed. */
  readonly folioPermits: Permits;
  /** Aborts everything when the caller, or a failing stage, says so. */
  readonly controller: AbortController;
  readonly signal: AbortSignal;
  /** What kept single chunks from being done: the others went on, and the run ends with the first of these. */
  readonly setbacks: { first: FoliopipeError | undefined };
  /** Once stopped, this process uploads nothing more; what is sent already goes on. */
  readonly uploads: {
    stopped: boolean;
    /** From the intent to the commit of what came of it: the run is not closed before they have ended. */
    readonly inFlight: Set<Promise<unknown>>;
  };
  /** How results are joined, as far as it is known: what one stage finds out counts for all. */
  readonly join: {
    method: JoinMethod | null;
    /** Numbers of chunks that have passed before the method was proven. */
    readonly judged: Set<number>;
    /** The latest judgement on its way; what it comes to where a chunk does not pass. */
    judging: Promise<UntrustedError | undefined>;
  };
  /** The hash of the work file, where this process has written it from its first byte on. */
  readonly work: KnownWork;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly at: AtFailpoint;
}
