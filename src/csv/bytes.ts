/** The bytes that have a meaning in CSV, and functions for line ends. */
export const NUL = 0x00;
export const LF = 0x0a;
export const CR = 0x0d;
export const QUOTE = 0x22;
export const COMMA = 0x2c;
/** The byte order mark of UTF-8. */
export const UTF8_BOM: Uint8Array = Uint8Array.of(0xef, 0xbb, 0xbf);
/** The digit 0; the other digits follow it. */
export const ZERO = 0x30;

/** Offset of the first line feed in `bytes[from, to)`, or -1. */
export function indexOfLineFeed(bytes: Uint8Array, from: number, to: number): number {
  const index = bytes.subarray(from, to).indexOf(LF);
  return index === -1 ? -1 : from + index;
}

/** Where the content of a line ends: at its line feed, or before a CR that precedes the line feed. */
export function contentEnd(bytes: Uint8Array, start: number, lineFeed: number): number {
  return lineFeed > start && bytes[lineFeed - 1] === CR ? lineFeed - 1 : lineFeed;
}

/** Line feeds in `bytes[from, to)`. */
export function countLineFeeds(bytes: Uint8Array, from: number, to: number): number {
  let count = 0;
  for (let i = from; i < to; i++) if (bytes[i] === LF) count++;
  return count;
}
