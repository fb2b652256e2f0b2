/** Rules of both scanners: of the fast kernel, and of the careful loop that takes over where the kernel stops. */

export interface Grammar {
  /** An ASCII byte. */
  readonly delimiter: number;
  /** Fields of a record. */
  readonly fields: number;
  /** Most bytes of a record, without its line end. */
  readonly maxRecordBytes: number;
}

/** Most field ends of one scan, unless one record has more. Keeps the arrays in the processor's cache. */
export const MAX_ENDS = 65_536;

/**
 * A record that does not end within this many bytes is too large. The extra 4 bytes are for its line end and for the two
 * bytes that decide whether a quote closes.
 */
export function maxBytesToRecordEnd({ maxRecordBytes }: Grammar): number {
  return maxRecordBytes + 4;
}
