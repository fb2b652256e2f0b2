/** The bytes that have a meaning in CSV, line ends, and the check that bytes are text. */
import { isUtf8 } from 'node:buffer';

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
export function contentEnd(bytes: Uint8Array, lineFeed: number): number {
  return bytes[lineFeed - 1] === CR ? lineFeed - 1 : lineFeed;
}

/** Line feeds in `bytes[from, to)`. */
export function countLineFeeds(bytes: Uint8Array, from: number, to: number): number {
  let count = 0;
  for (let i = from; i < to; i++) if (bytes[i] === LF) count++;
  return count;
}

type BadTextCode = 'SOURCE_NUL' | 'SOURCE_ENCODING';

/**
 * The problem with the text of `bytes`, which hold complete records; undefined if there is none. Uses native calls over a
 * whole batch: they are far cheaper than a check of each byte in the scanner's loop.
 *
 * In a `transcoded` file U+FFFD counts as invalid bytes. This also rejects a file that really holds the character:
 * after decoding both look the same, and a lost letter must not go unnoticed.
 */
export function badText(bytes: Uint8Array, transcoded: boolean): BadTextCode | undefined {
  if (bytes.indexOf(NUL) !== -1) return 'SOURCE_NUL';
  if (!isUtf8(bytes)) return 'SOURCE_ENCODING';
  if (transcoded && asBuffer(bytes).indexOf(REPLACEMENT) !== -1) return 'SOURCE_ENCODING';
  return undefined;
}

/** U+FFFD, which iconv-lite writes for bytes that are not valid in the file's encoding. */
const REPLACEMENT = Buffer.from('\u{fffd}');

/** The same bytes, with the methods of a Buffer. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
