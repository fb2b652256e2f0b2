/** A folio as the service stores it. */
import type { Bytes } from '../../types.js';

/** Decides which records fail regardless of the predictor. Stored with the folio, so that a restart changes nothing. */
export interface ForcedFailures {
  /** Share of the records, 0 to 1. */
  readonly failShare: number;
  /** Chooses the failing records, together with the folio and the record's number. */
  readonly failSeed: number;
}

/** The facts that are known after the upload was read. */
export interface NewFolio extends ForcedFailures {
  /** Random, alphanumeric. */
  readonly folio: string;
  /** The client's file name: sent back, never used as a path. */
  readonly fileName: string;
  readonly description: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** The upload's header record, without BOM and line end. */
  readonly header: Buffer;
  readonly records: number;
  /** Successful records per part. */
  readonly segmentRecords: number;
  /** Offset of the first record in the uploaded file. */
  readonly offset: Bytes;
}

export type FolioStatus = 'PROCESSING' | 'FINISHED';

/** `offset`, `successful` and `failed` are the progress. */
export interface Folio extends NewFolio {
  readonly id: number;
  readonly status: FolioStatus;
  /** Offset of the next record to process. */
  readonly offset: Bytes;
  readonly successful: number;
  readonly failed: number;
  /** Milliseconds since the epoch; null while PROCESSING, and when an older version finished the folio. */
  readonly finishedAt: number | null;
}

/** Consecutive processed records of a folio: their results, and the offset at which to continue. */
export interface Slice {
  /** End of the last processed record in the uploaded file. */
  readonly offset: Bytes;
  readonly successful: number;
  readonly failed: number;
  /** CSV records for the successful part being filled; may be empty. */
  readonly successfulBytes: Uint8Array;
  /** CSV records for the failed part; may be empty. */
  readonly failedBytes: Uint8Array;
}
