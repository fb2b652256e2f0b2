/** A folio as the service keeps it. */
import type { Bytes } from '../../types.js';
import type { MadeToFail } from '../routes/screen.js';

/** What is known when the upload has been read. */
export interface NewFolio extends MadeToFail {
  /** Random, alphanumeric. */
  readonly folio: string;
  /** As the client called it; told back, never used as a path. */
  readonly fileName: string;
  readonly description: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** The upload's header record as it came, without BOM and line end. */
  readonly header: Buffer;
  readonly records: number;
  /** Successful records a part. */
  readonly segmentRecords: number;
  /** Where the first record begins in the uploaded file. */
  readonly offset: Bytes;
}

export type FolioStatus = 'PROCESSING' | 'FINISHED';

/** `offset`, `successful` and `failed` say how far the processing has come. */
export interface Folio extends NewFolio {
  readonly id: number;
  readonly status: FolioStatus;
  readonly successful: number;
  readonly failed: number;
  /** Milliseconds since the epoch; null while PROCESSING. */
  readonly finishedAt: number | null;
}

/** The next records of a folio, processed: counts, results and where to go on. */
export interface Slice {
  /** End of the last processed record in the uploaded file. */
  readonly offset: Bytes;
  readonly successful: number;
  readonly failed: number;
  /** CSV records for the part that is being filled, and for the failed part; may be empty. */
  readonly successfulBytes: Uint8Array;
  readonly failedBytes: Uint8Array;
}
