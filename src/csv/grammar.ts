/** What both halves of the scan go by: the fast kernel, and the careful loop that judges what it stops at. */

export interface Grammar {
  /** An ASCII byte. */
  readonly delimiter: number;
  /** Fields of a record. */
  readonly fields: number;
  /** A record's bytes without its line end. */
  readonly maxRecordBytes: number;
}

/** Ends found in one scan at most (where a record has not more fields): keeps the arrays in the cache. */
export const MAX_ENDS = 65_536;

/**
 * From this many bytes on, a record without an end is too large: its line end and the two bytes that
 * tell whether a quote closes could not come later.
 */
export function horizonOf({ maxRecordBytes }: Grammar): number {
  return maxRecordBytes + 4;
}
