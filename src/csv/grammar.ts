/** The rules that both scanners share: the fast kernel, and the careful loop that takes over where the kernel stops. */

export interface Grammar {
  /** An ASCII byte. */
  readonly delimiter: number;
  /** Fields of a record. */
  readonly fields: number;
  /** A record's bytes without its line end. */
  readonly maxRecordBytes: number;
}

/** Most field ends of one scan, unless one record has more: keeps the arrays in the processor's cache. */
export const MAX_ENDS = 65_536;

/**
 * A record without an end within this many bytes is too large. The 4 bytes more are for its line end and for the two
 * bytes that decide whether a quote closes.
 */
export function horizonOf({ maxRecordBytes }: Grammar): number {
  return maxRecordBytes + 4;
}
