/** Records or results as bytes with the places of their fields: what rows are written from and echoes are compared in. */

/** Records or results: bytes, and where their fields stand, as in a Batch. */
export interface Table {
  readonly bytes: Uint8Array;
  readonly count: number;
  /** Fields of each. */
  readonly fields: number;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}
