/** Reads a file's bytes as the scanner needs them: unzipped, UTF-8, without byte order mark. */
import iconv from 'iconv-lite';
import type { Dialect } from '../types.js';
import { type ReadOptions, readUnzipped } from './read-unzipped.js';

const BOM_BYTES = 3;

/**
 * The decoded bytes of a file from a decoded offset on. Plain UTF-8 files seek there; others are decoded from their
 * beginning, and the bytes before the offset are dropped.
 *
 * @param options `onRaw` sees the bytes as on disk: all of them where `from` is 0.
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

/** Whether a file's bytes have to be decoded from another encoding. */
export function isTranscoded(dialect: Pick<Dialect, 'encoding'>): boolean {
  return dialect.encoding !== 'utf8';
}

/** Decodes from another encoding into UTF-8. */
function transcode(input: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer, void, undefined> {
  return isLatin1(encoding) ? fromLatin1(input) : byIconv(input, encoding);
}

const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

/** Whether each byte is the character of the same number, as in ISO 8859-1, whatever name the encoding has. */
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
    // Half of a surrogate pair would become U+FFFD: it is kept until its other half comes.
    const cut = /[\ud800-\udbff]$/.test(text) ? text.length - 1 : text.length;
    held = text.slice(cut);
    if (cut > 0) yield Buffer.from(text.slice(0, cut));
  }
  const rest = held + (decoder.end() ?? '') + (isHalved(encoding, bytes) ? REPLACEMENT : '');
  if (rest !== '') yield Buffer.from(rest);
}

/** Whether UTF-16 ends in the middle of a character. Only in this encoding does iconv-lite drop such a byte silently. */
function isHalved(encoding: string, bytes: number): boolean {
  return bytes % 2 === 1 && /^(utf-?16|ucs-?2)/.test(encoding);
}

/** Written for a halved character; a record that holds it is refused. */
const REPLACEMENT = '\u{fffd}';
