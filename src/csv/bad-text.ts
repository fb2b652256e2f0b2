/** Finds records whose text cannot be used: NUL bytes, and bytes that are not text in the source's encoding. */
import { isUtf8 } from 'node:buffer';
import { NUL } from './ascii.js';

export type BadTextCode = 'SOURCE_NUL' | 'SOURCE_ENCODING';

/** U+FFFD, which iconv-lite writes for bytes that mean nothing in the file's encoding. */
const REPLACEMENT = Buffer.from('\u{fffd}');

/**
 * What is wrong with the text of `bytes`, which hold whole records; undefined when nothing is. Native
 * calls over a whole batch: far cheaper than a look at each byte in the scanner's loop.
 *
 * In a `transcoded` file U+FFFD counts as bytes without meaning. A file that really holds that character
 * is refused too: after decoding the two cannot be told apart, and a lost letter must not pass unseen.
 */
export function badText(bytes: Uint8Array, transcoded: boolean): BadTextCode | undefined {
  if (bytes.indexOf(NUL) !== -1) return 'SOURCE_NUL';
  if (!isUtf8(bytes)) return 'SOURCE_ENCODING';
  if (transcoded && asBuffer(bytes).indexOf(REPLACEMENT) !== -1) return 'SOURCE_ENCODING';
  return undefined;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
