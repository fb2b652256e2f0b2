/** The options of a run besides its config: its ports and how it is run. */
import type { Proxies } from '../api/http-client.js';
import type { PredictionApi } from '../api/prediction-api.js';
import type { RequestLimiter } from '../api/rate-limiter.js';
import type { Checkpoint } from '../checkpoint/checkpoint.js';
import type { PipelineLock } from '../checkpoint/pipeline-lock.js';
import type { DeltaStore } from '../delta/delta-store.js';
import type { AtFailpoint } from '../failpoints.js';
import type { OutputStore } from '../files/output-store.js';
import type { FileStore } from '../files/run-files.js';
import type { LoadTarget } from '../load/load-target.js';
import type { Logger } from '../logger.js';
import type { OnProgress } from '../progress/events.js';
import type { RunMeasure } from '../report/measure-run.js';
import type { AnswerStore } from '../reuse/answer-store.js';
import type { InputStream } from '../spool/copy-stdin.js';
import { HandedRecords, type SourceRecords } from '../spool/handed-records.js';
import type { Clock } from '../streams/clock.js';
import { expectErrors } from '../streams/handed-stream.js';
import type { Permits } from '../streams/permits.js';
import type { Milliseconds } from '../types.js';

/** The address of the embedded service (`service.embedded`). The code that starts the service passes it. */
export interface ServiceEndpoint {
  readonly baseUrl: string;
  readonly token: { reveal(): string };
}

/**
 * The ports of a run. Each has a default for one machine with a local disk. A caller that passes its own port must
 * close it, because a run closes only what it has opened.
 */
export interface RunPorts {
  /** Default: SQLite in `stateDir`. */
  readonly checkpoint?: Checkpoint | undefined;
  /** Taken before the checkpoint is opened. Default: a lock file in `stateDir`, which the system frees after a kill. */
  readonly lock?: PipelineLock | undefined;
  /** Chunk and part files. Default: folders in `stateDir`. */
  readonly files?: FileStore | undefined;
  /** The answers of earlier runs. Default: files in `stateDir`, or where all machines see them (`state`). */
  readonly answers?: AnswerStore | undefined;
  /** The store for the output, its manifest, marker and rejects. Default: local folders. */
  readonly output?: OutputStore | undefined;
  /** What is kept of each pipeline's last publication, for `output.delta`. Default: as for `answers`. */
  readonly deltas?: DeltaStore | undefined;
  /** The database into which publications are loaded, if the config has `load`. Default: the one at `load.into`. */
  readonly loadTarget?: LoadTarget | undefined;
  /** The prediction service. Default: the HTTP client of `service.*`. */
  readonly api?: PredictionApi | undefined;
  /**
   * The limits of the account, to be shared if several processes use one account. Default: `concurrency.folios` and
   * `service.requestsPerSecond`, counted in this process only.
   */
  readonly limits?:
    | { readonly folios?: Permits | undefined; readonly requests?: RequestLimiter | undefined }
    | undefined;
  /** Default: the time that the lock gives (`HeldLock.now`), or else the system's clock. */
  readonly clock?: Clock | undefined;
  /** Default: logs nothing. */
  readonly logger?: Logger | undefined;
}

/** How a run is done, besides its config. Everything has a default. */
export interface RunOptions extends RunPorts {
  /**
   * Aborting it stops the run: no more uploads start, uploads in flight are waited for, and everything is kept. The run
   * then throws the signal's reason, if that is a FoliopipeError; else an `InterruptedError` with the reason as its
   * `cause`, such as the `TimeoutError` of `AbortSignal.timeout()`.
   */
  readonly signal?: AbortSignal | undefined;
  /** Begin a new run even if one is unfinished or done; its records are paid for again. */
  readonly fresh?: boolean | undefined;
  /**
   * Only this number of records, the first of the source: the run is a sample. It is not the run of the whole source, nor
   * that of a sample with another limit. Its output is `<output>.sample.csv`.
   */
  readonly limit?: number | undefined;
  /** `false`: a new run takes no answers of earlier runs. Its own answers are kept as `reuse.*` says. */
  readonly reuse?: false | undefined;
  /** Passes the guards that ask before a run pays, such as `reuse.maxMiss`. */
  readonly yes?: boolean | undefined;
  /**
   * Never begin a run: use the run with this name (see `namedRun`). `true` uses the unfinished run, or else the last
   * one.
   */
  readonly existing?: true | string | undefined;
  /** Epoch milliseconds at which the run stops with a `DeadlineError`; it can be resumed. */
  readonly deadline?: number | undefined;
  /** At the deadline, publish the finished chunks: all other records are UNPROCESSED, and the run stays open. */
  readonly publishPartial?: boolean | undefined;
  /** How long to wait for the pipeline's lock. Default: 0, a held lock is an error at once. */
  readonly waitLock?: Milliseconds | undefined;
  /**
   * Standard input, for `source.path: "-"`. It is read to its end, once; the library does not look at the process.
   */
  readonly stdin?: InputStream | undefined;
  /**
   * The records of the source, in place of a file: bytes of a CSV or objects. `source.path` must then be `-`, or neither
   * it nor `source.query` be set. They are copied into `stateDir` before anything is paid.
   */
  readonly records?: SourceRecords | HandedRecords | undefined;
  /** A note kept with a new run. */
  readonly label?: string | undefined;
  readonly endpoint?: ServiceEndpoint | undefined;
  /** The work asks the service only for lost parts: a missing `endpoint` is an error only then. */
  readonly isServiceSpare?: boolean | undefined;
  /** The work sends nothing that is paid: in a restored state it does not ask for `yes` (`RESTORED_UNCONFIRMED`). */
  readonly sendsNothing?: boolean | undefined;
  /** The proxies of the environment variables, passed by the caller: the library does not read the environment. */
  readonly proxies?: Proxies | undefined;
  /** Shown to whoever finds the pipeline locked. Default: the id of this process, and `foliopipe`. */
  readonly holder?: { readonly pid: number; readonly command: string } | undefined;
  /** Called with each event of the work: what is copied and checked, which run it is, and how the run stands. */
  readonly onProgress?: OnProgress | undefined;
  /**
   * Completes the commands that the page of `report.html` names as the next step, such as with the flags that were typed.
   * Default: they stay unchanged.
   */
  readonly completeText?: ((text: string) => string) | undefined;
  /** Measures the work of this process; the summary has its figures. Default: a new one. */
  readonly measure?: RunMeasure | undefined;
  readonly at?: AtFailpoint | undefined;
}

/**
 * Does the work with records that are copied once, however often it looks for its source. Records that it has not read
 * are closed when it ends. An error of `stdin` is kept for its reader.
 */
export async function withHandedRecords<O extends Pick<RunOptions, 'records' | 'stdin'>, T>(
  options: O,
  work: (options: O) => Promise<T>,
): Promise<T> {
  const { records } = options;
  expectErrors(options.stdin);
  if (records === undefined || records instanceof HandedRecords) return work(options);
  const handed = new HandedRecords(records);
  try {
    return await work({ ...options, records: handed });
  } finally {
    handed.close();
  }
}
