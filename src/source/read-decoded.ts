/** Reads a file's bytes in the form that the scanner needs: unzipped, UTF-8, without a byte order mark. */
import iconv from 'iconv-lite';
import type { Dialect } from '../types.js';
import { type ReadOptions, readUnzipped } from './read-unzipped.js';

const BOM_BYTES = 3;

/**
 * Reads the decoded bytes of a file from a decoded offset on. Seeks to the offset in plain UTF-8 files. Decodes other
 * files from their beginning and drops the bytes before the offset.
 *
 * @param options `onRaw` gets the bytes as they are on disk: all of them if `from` is 0.
 * @throws SourceError `SOURCE_MISSING` or `SOURCE_UNREADABLE`; the signal's reason.
 */
export async function* readDecoded(
  file: { readonly path: string; readonly dialect: Dialect },
  from: number,
  options: ReadOptions,
): AsyncGenerator<Buffer, void, undefined> {
  const { path, dialect } = file;
  const { gzip, bom } = dialect;
  const mark = bom && !isTranscoded(dialect) ? BOM_BYTES : 0;
  const start = gzip || isTranscoded(dialect) || from === 0 ? 0 : from + mark;
  const unzipped = readUnzipped({ path, gzip }, start, options);
  const decoded = isTranscoded(dialect) ? transcode(unzipped, dialect.encoding) : unzipped;

  let drop = start === 0 ? from + mark : 0;
  for await (const piece of decoded) {
    if (drop >= piece.length) {
      drop -= piece.length;
      continue;
    }
    yield drop === 0 ? piece : piece.subarray(drop);
    drop = 0;
  }
}

/** Whether a file has another encoding than UTF-8, so that its bytes must be decoded. */
export function isTranscoded(dialect: Pick<Dialect, 'encoding'>): boolean {
  return dialect.encoding !== 'utf8';
}

/** Decodes from another encoding into UTF-8. */
function transcode(input: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer, void, undefined> {
  return isLatin1(encoding) ? fromLatin1(input) : byIconv(input, encoding);
}

const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

/** Whether the encoding decodes each byte to the character with the same number, as ISO 8859-1 does. */
function isLatin1(encoding: string): boolean {
  return iconv.decode(ALL_BYTES, encoding) === ALL_BYTES.toString('latin1');
}

/** Node's own decoding, five times as fast as iconv-lite's. */
async function* fromLatin1(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  for await (const piece of input) yield Buffer.from(piece.toString('latin1'));
}

/** Decodes any encoding that iconv-lite knows; iconv-lite removes a byte order mark itself. */
async function* byIconv(
  input: AsyncIterable<Buffer>,
  encoding: string,
): AsyncGenerator<Buffer, void, undefined> {
  const decoder = iconv.getDecoder(encoding);
  let held = '';
  let bytes = 0;
  for await (const piece of input) {
    bytes += piece.length;
    const text = held + decoder.write(piece);
    // Half of a surrogate pair would become U+FFFD, so it waits for its other half.
    const cut = /[\ud800-\udbff]$/.test(text) ? text.length - 1 : text.length;
    held = text.slice(cut);
    if (cut > 0) yield Buffer.from(text.slice(0, cut));
  }
  const rest = held + (decoder.end() ?? '') + (isHalved(encoding, bytes) ? REPLACEMENT : '');
  if (rest !== '') yield Buffer.from(rest);
}

/** Whether UTF-16 ends in the middle of a character. In this encoding, iconv-lite drops such a byte silently. */
function isHalved(encoding: string, bytes: number): boolean {
  return bytes % 2 === 1 && /^(utf-?16|ucs-?2)/.test(encoding);
}

/** Stands for the half of a character. A record that holds it is bad. */
const REPLACEMENT = '\u{fffd}';
