/** What a caller may give to a run besides its config. */
import type { PredictionApi } from '../api/prediction-api.js';
import type { RequestLimiter } from '../api/rate-limiter.js';
import type { Checkpoint } from '../checkpoint/checkpoint.js';
import type { PipelineLock } from '../checkpoint/pipeline-lock.js';
import type { AtFailpoint } from '../failpoints.js';
import type { OutputStore } from '../files/output-store.js';
import type { FileStore } from '../files/run-files.js';
import type { Logger } from '../logger.js';
import type { Clock } from '../streams/clock.js';
import type { Permits } from '../streams/permits.js';
import type { Milliseconds } from '../types.js';

/** Where the service of `service.embedded` listens; its starter passes this. */
export interface ServiceEndpoint {
  readonly baseUrl: string;
  readonly token: { reveal(): string };
}

/**
 * The ports of a run. Each has a default, for one machine with a local disk; a caller may hand in another one, and
 * then closes it itself: a run closes only what it has opened.
 */
export interface RunPorts {
  /** Default: SQLite in `stateDir`. */
  readonly checkpoint?: Checkpoint;
  /** Taken before the checkpoint is opened. Default: a lock file in `stateDir`, which the system frees after a kill. */
  readonly lock?: PipelineLock;
  /** Chunk and part files. Default: folders in `stateDir`. */
  readonly files?: FileStore;
  /** Where the output, its manifest, marker and rejects are put. Default: local folders. */
  readonly output?: OutputStore;
  /** The prediction service. Default: the HTTP client of `service.*`. */
  readonly api?: PredictionApi;
  /**
   * What the account allows. Hand these in where several processes use one account. Default: `concurrency.folios` and
   * `service.requestsPerSecond`, counted in this process alone.
   */
  readonly limits?: { readonly folios?: Permits; readonly requests?: RequestLimiter };
  /** Default: the system's clock. */
  readonly clock?: Clock;
  /** Default: logs nothing. */
  readonly logger?: Logger;
}

export interface RunOptions extends RunPorts {
  /** Abort it to stop: nothing more is submitted, uploads in flight are waited for, everything is kept. */
  readonly signal?: AbortSignal;
  /** Begin a new run even if one is unfinished or done; what it sends is paid for again. */
  readonly fresh?: boolean;
  /** Never begin a run: take the run of this id, or with `true` the unfinished or else the last one. */
  readonly existing?: true | string;
  /** Epoch milliseconds at which the run is stopped, resumably, with a `DeadlineError`. */
  readonly deadline?: number;
  /** At the deadline, publish what is done: the rest is UNPROCESSED, and the run stays open. */
  readonly publishPartial?: boolean;
  /** How long to wait for the pipeline's lock; without it a held lock is an error at once. */
  readonly waitLock?: Milliseconds;
  /** A note kept with a new run. */
  readonly label?: string;
  readonly endpoint?: ServiceEndpoint;
  /** Proxies as the environment would name them; the library does not read it. */
  readonly proxies?: { readonly httpsProxy?: string; readonly httpProxy?: string; readonly noProxy?: string };
  /** Shown to another process that finds the pipeline locked. */
  readonly holder?: { readonly pid: number; readonly command: string };
  /** Called while the source is checked: bytes of the files and records read so far. */
  readonly onScan?: (progress: { readonly bytes: number; readonly records: number }) => void;
  /** Called with the run's id as soon as that is known; before it with that of a publishing that must end first. */
  readonly onRun?: (run: string) => void;
  readonly at?: AtFailpoint;
}
