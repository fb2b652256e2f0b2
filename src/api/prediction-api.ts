/** The port to the prediction service: its four operations and nothing of how they travel. */
import type { Bytes, FileStatus, FolioCounts } from '../types.js';

/** A file to upload, wherever it is stored: on a disk, in a database or in an object store. */
export interface UploadFile {
  /** The name that the service is given. */
  readonly name: string;
  readonly bytes: Bytes;
  /**
   * Gives the content from its first byte on, exactly `bytes` of it; called once for each attempt. The content is
   * streamed. A piece must keep its bytes after it is given: nothing says when the network has sent it. An error
   * counts as a cut connection: the upload is tried again if nothing was sent, otherwise it is ambiguous.
   */
  open(): AsyncIterable<Uint8Array>;
}

export interface UploadRequest {
  readonly file: UploadFile;
  readonly description: string;
}

/** What the upload's reply says (interface, 2.1). */
export interface UploadReceipt {
  readonly folio: string;
  /** Records that the service read in our file, where it says so. */
  readonly totalRecords: number | null;
  /** The reply says that it comes from a local service. */
  readonly rehearsal: boolean;
}

/** One poll of a folio (interface, 2.1), cleaned of what we do not rely on. */
export interface FolioReport {
  /** As the service wrote it, shortened and free of control characters: `PROCESSING`, `FINISHED` or unknown. */
  readonly status: string;
  /** Name and annotation of the uploaded file as the service wrote them: to be compared, not to be shown. */
  readonly fileName: string | null;
  readonly description: string | null;
  /** Records that the service has to predict, where it says so. */
  readonly records: number | null;
  /** 0 to 100, or null where it is missing or no number. */
  readonly percentage: number | null;
  readonly processed: number | null;
  /** Null while the service does not give both counts. */
  readonly counts: FolioCounts | null;
  /** Numbers of the successful parts listed, ascending, each once. */
  readonly successfulParts: readonly number[];
  /** Records that the listed ranges add up to, or null where a range is missing or unreadable. Only waited by. */
  readonly listedRecords: number | null;
  /** Number of the failed part: `failedInfo.part`, or 0 where that is missing. */
  readonly failedPart: number;
  readonly rehearsal: boolean;
}

/** What the reply with a part says besides its content. */
export interface PartReply {
  /** The reply says that it comes from a local service. */
  readonly rehearsal: boolean;
}

export interface DownloadRequest {
  readonly folio: string;
  readonly part: number;
  readonly fileStatus: FileStatus;
  /** More decoded bytes than this are refused as untrustworthy. */
  readonly maxBytes: Bytes;
}

/** The business asked for by the single-record search: values by field name. */
export type SearchRecord = Readonly<Record<string, string>>;

/**
 * The four operations. Every method throws `RefusedError` (401, 402, 403, other final 4xx, a GET's 3xx),
 * `TroubleError` (given up after an outage) or the signal's reason; more is said at the methods.
 */
export interface PredictionApi {
  /**
   * The paid POST (interface, 4.1). Tried again only when it certainly was not accepted (law 3).
   * @throws AmbiguousUploadError when nobody can know whether the service took the file, with the reason: no
   *   reply, one that cannot be read, or a redirect (exit 7).
   */
  upload(request: UploadRequest, signal: AbortSignal): Promise<UploadReceipt>;

  /**
   * One poll (interface, 4.2), tried again freely.
   * @param until once aborted, a single answer that the folio is not known decides.
   * @throws FolioLostError when the service says, and keeps saying, that it does not know the folio (404 or 410).
   */
  track(folio: string, signal: AbortSignal, until?: AbortSignal): Promise<FolioReport>;

  /**
   * Fetches one part (interface, 4.3) and hands its decoded bytes to `consume` as they arrive; each piece is
   * valid until the next one is asked for. A cut or malformed reply is fetched again, so `consume` may be called
   * several times, each time from the start; the result of the one that ran to its end is returned.
   * @param until as `track` takes it.
   * @throws FolioLostError when the service says, and keeps saying, that it does not know folio or part.
   */
  download<T>(
    request: DownloadRequest,
    consume: (content: AsyncIterable<Buffer>, reply: PartReply) => Promise<T>,
    signal: AbortSignal,
    until?: AbortSignal,
  ): Promise<T>;

  /** The single-record search (interface, 4.4); any JSON comes back. Costs money: never retried when ambiguous. */
  search(record: SearchRecord, signal: AbortSignal): Promise<unknown>;

  close(): Promise<void>;
}
