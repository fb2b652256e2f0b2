/** The unit of the data plane: many records in one Buffer, with the places where their fields end. */

/**
 * Consecutive whole records of one file in one Buffer. Arrays and bytes are valid only until the next
 * batch is asked for, and may be longer than what is used of them.
 */
export interface Batch {
  /** Index of the source file. */
  readonly file: number;
  /** Decoded UTF-8. */
  readonly bytes: Uint8Array;
  /** Decoded offset in the file of `bytes[0]`. */
  readonly base: number;
  /** Number of record 0 in the source, 1-based. Numbers are consecutive: a batch ends at a rejected record. */
  readonly firstRecord: number;
  /** Records in the batch, at least one. */
  readonly count: number;
  /** Fields of a record, the same for all. */
  readonly fields: number;
  /** Where each record begins: `[count]`. */
  readonly starts: Int32Array;
  /**
   * Where each field ends, exclusive: `[count * fields]`. Field k of record r begins at `starts[r]` for
   * k = 0, else at `ends[r * fields + k - 1] + 1`. Fields are raw, quotes included; the last field's end
   * leaves out LF or CRLF.
   */
  readonly ends: Int32Array;
}

/** Bytes of a batch from the first of these records to the end of the last one, line ends between them included. */
export function bytesBetween({ starts, ends, fields }: Batch, from: number, to: number): number {
  return ends[to * fields - 1]! - starts[from]!;
}

/** Where to stop among the records `from` to `to` (exclusive), so that those before it have at most so many bytes. */
export function endWithin(batch: Batch, from: number, to: number, maxBytes: number): number {
  if (to === from || bytesBetween(batch, from, to) <= maxBytes) return to;
  let end = from;
  while (bytesBetween(batch, from, end + 1) <= maxBytes) end++;
  return end;
}
