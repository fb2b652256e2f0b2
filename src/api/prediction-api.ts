/** The port to the prediction service: its four operations, without anything about HTTP. */
import type { Bytes, FileStatus, FolioCounts, Milliseconds, UploadContent } from '../types.js';

/** The file of an upload. */
export interface UploadFile extends UploadContent {
  /** The name that is sent to the service. */
  readonly name: string;
}

/** Callbacks that decide, while a paid request waits, whether it is sent. An implementation need not call them. */
export interface PaidWaits {
  /**
   * Called when the request was certainly not accepted, before it is sent again. An error that it throws ends the
   * request.
   * @param time the wait for which the service asks; 0 if it does not say.
   */
  readonly paused?: ((time: Milliseconds) => void) | undefined;
  /**
   * Called just before each attempt is sent, when it waits for nothing more. An error that it throws ends the request,
   * and the attempt is not sent.
   */
  readonly begins?: (() => void) | undefined;
}

/** What to upload. */
export interface UploadRequest extends PaidWaits {
  readonly file: UploadFile;
  readonly description: string;
  /**
   * Called when the service has refused the upload with a 429, before `paused`. An error that it throws ends the
   * upload. An implementation need not call it.
   */
  readonly refused?: (() => Promise<void> | void) | undefined;
}

/** The reply to an upload (interface, 2.1). */
export interface UploadReceipt {
  readonly folio: string;
  /** How many records the service read in our file, or null if it does not say. */
  readonly totalRecords: number | null;
  /** Whether the reply says that it comes from a local service. */
  readonly rehearsal: boolean;
}

/** The reply to one poll of a folio (interface, 2.1), reduced to the facts that foliopipe uses. */
export interface FolioReport {
  /** As the service wrote it, shortened and free of control characters: `PROCESSING`, `FINISHED` or unknown. */
  readonly status: string;
  /** Name and description of the uploaded file as the service wrote them. Compare them; do not show them. */
  readonly fileName: string | null;
  readonly description: string | null;
  /** How many records the service has to predict, or null if it does not say. */
  readonly records: number | null;
  /** 0 to 100, or null if it is missing or not a number. */
  readonly percentage: number | null;
  readonly processed: number | null;
  /** Null until the service gives both counts. */
  readonly counts: FolioCounts | null;
  /** Numbers of the listed successful parts, ascending, each once. */
  readonly successfulParts: readonly number[];
  /** The sum of the listed ranges, or null if a range is missing or unreadable. Decides only how long to wait. */
  readonly listedRecords: number | null;
  /** Number of the failed part: `failedInfo.part`, or 0 if that is missing. */
  readonly failedPart: number;
  readonly rehearsal: boolean;
}

/** The facts in a part's reply besides its content. */
export interface PartReply {
  /** Whether the reply says that it comes from a local service. */
  readonly rehearsal: boolean;
}

/** The part to download. */
export interface DownloadRequest {
  readonly folio: string;
  readonly part: number;
  readonly fileStatus: FileStatus;
  /** A part with more decoded bytes is rejected as untrustworthy. */
  readonly maxBytes: Bytes;
  /**
   * Called for each attempt. The function that it returns sees the bytes of the part as soon as they arrive, before
   * they are collected into larger pieces; an error that it throws ends the download. Calling it is optional.
   */
  readonly watch?: () => (bytes: Uint8Array) => void;
}

/** The reply to a search (interface, 4.4). */
export interface SearchReply {
  /** Any JSON. */
  readonly answer: unknown;
  /** Whether the reply says that it comes from a local service. */
  readonly rehearsal: boolean;
}

/** The business to search for: values by field name. */
export type SearchRecord = Readonly<Record<string, string>>;

/**
 * The four operations. A job waits for every call: one must end soon after its signal has aborted, with the signal's
 * reason. Every method throws `RefusedError` (401, 402, 403, other final 4xx, a GET's 3xx, with `facts.status`),
 * `ConfigError` (a certificate that does not verify, a proxy that answers 407) or `OutageError` (given up after an
 * outage: the other chunks go on). The methods name what else they throw. Any other error ends the job, which goes on
 * when it is called again.
 */
export interface PredictionApi {
  /**
   * The paid POST (interface, 4.1). It is retried only if it was certainly not accepted: rule "Paid requests are not
   * retried blindly" (docs/architecture.md#paid-requests-are-not-retried-blindly). The client of a
   * program gets a signal that aborts at once before `file.open()` was called, and `timeouts.shutdown` later after that,
   * because the reply is paid for.
   * @throws AmbiguousUploadError when the service may or may not have accepted the file, with the reason: no reply,
   *   an unreadable reply, or a redirect (exit 7). Any error of another class means the same, if it is no FoliopipeError.
   */
  upload(request: UploadRequest, signal: AbortSignal): Promise<UploadReceipt>;

  /**
   * One poll (interface, 4.2), retried freely.
   * @param until after it aborts, a single reply that the folio is unknown ends the call.
   * @param begins as for `upload`.
   * @throws FolioLostError when the service says, and keeps saying, that it does not know the folio (404 or 410);
   *   BrokenReplyError when it keeps answering with what the interface does not allow.
   */
  track(folio: string, signal: AbortSignal, until?: AbortSignal, begins?: () => void): Promise<FolioReport>;

  /**
   * Fetches one part (interface, 4.3) and passes its decoded bytes to `consume` as they arrive. Each piece is valid
   * until the next one is requested. After a cut or malformed reply it fetches the part again and calls `consume` again,
   * from the start. Returns the result of the call that read the whole part.
   * @param until as for `track`.
   * @throws FolioLostError when the service says, and keeps saying, that it does not know the folio or part;
   *   BrokenReplyError as `track`; UntrustedError `PART_TOO_LARGE`; what `consume` throws.
   */
  download<T>(
    request: DownloadRequest,
    consume: (content: AsyncIterable<Buffer>, reply: PartReply) => Promise<T>,
    signal: AbortSignal,
    until?: AbortSignal,
  ): Promise<T>;

  /**
   * The single-record search (interface, 4.4). It costs money, so it is never retried when ambiguous.
   * @param waits as for `upload`.
   */
  search(record: SearchRecord, signal: AbortSignal, waits?: PaidWaits): Promise<SearchReply>;

  /**
   * Resolves when no pause of the service is in force: a paid request that begins within one is in doubt after a kill.
   * Without it, nothing waits for the end of a pause.
   */
  ready?(signal: AbortSignal): Promise<void>;

  close(): Promise<void>;
}
