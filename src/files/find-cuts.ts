/** Decides where a CSV is cut into parts: only behind records, never within a quoted field with line feeds. */
import type { Bytes } from '../types.js';

const LF = 0x0a;
const QUOTE = 0x22;

export interface Cuts {
  /** Bytes of the header, which each part begins with. */
  readonly header: Bytes;
  /** Where each part ends in the CSV; the last one at its end. At least one. */
  readonly ends: readonly number[];
}

/**
 * @param pieces a CSV as foliopipe writes it, with a header: a quote stands only around a field and, doubled, in it.
 * @param maxBytes of a part with its header. A single record that does not fit is a part of its own.
 */
export async function findCuts(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: Bytes,
): Promise<Cuts> {
  const ends: number[] = [];
  let header = 0;
  /** Where the part begins, and where its last whole record ends. */
  let partStart = 0;
  let lastEnd = 0;
  let isQuoted = false;
  let position = 0;
  for await (const piece of pieces) {
    for (let i = 0; i < piece.length; i++) {
      const byte = piece[i];
      if (byte === QUOTE) isQuoted = !isQuoted;
      if (byte !== LF || isQuoted) continue;
      const end = position + i + 1;
      // The first part holds the header itself.
      const size = end - partStart + (partStart === 0 ? 0 : header);
      if (size > maxBytes && lastEnd > Math.max(partStart, header)) {
        ends.push(lastEnd);
        partStart = lastEnd;
      }
      if (header === 0) header = end;
      lastEnd = end;
    }
    position += piece.length;
  }
  return { header, ends: [...ends, position] };
}
