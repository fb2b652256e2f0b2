/**
 * Reads a file's bytes in the form that the scanner needs: unzipped, UTF-8, without a byte order mark, with quotes only
 * where they begin and end fields.
 */

import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import iconv from 'iconv-lite';
import { countLineFeeds, UTF8_BOM } from '../csv/bytes.js';
import { TextQuoter } from '../csv/quote-text.js';
import { SourceError } from '../errors.js';
import { PIECE_BYTES, readPieces, watchPieces } from '../streams/read-pieces.js';
import type { Dialect } from '../types.js';
import { unreadable } from './source-files.js';

/**
 * Reads the decoded bytes of a file from a decoded offset on. Seeks to the offset in plain UTF-8 files. Decodes other
 * files, and those in which quotes are text, from their beginning and drops the bytes before the offset.
 *
 * @param options `onRaw` gets the bytes as they are on disk: all of them if `from` is 0.
 * @throws SourceError `SOURCE_MISSING` or `SOURCE_UNREADABLE`; the signal's reason.
 */
export function readDecoded(
  file: ReadFile & { readonly dialect: Dialect },
  from: number,
  options: ReadOptions,
): AsyncGenerator<Buffer, void, undefined> {
  const { path, bytes, dialect } = file;
  const { gzip, bom, quote, skippedBytes = 0 } = dialect;
  const mark = bom && !isTranscoded(dialect) ? UTF8_BOM.length : 0;
  const start = from > 0 && isSeekable({ dialect }) ? from + mark : 0;
  const unzipped = readUnzipped({ path, bytes, gzip }, start, options);
  const utf8 = isTranscoded(dialect) ? transcode(unzipped, dialect.encoding) : unzipped;
  const decoded = quote === 'none' ? quoteFields(utf8, dialect.delimiter, mark + skippedBytes) : utf8;

  const drop = start === 0 ? from + mark : 0;
  return drop === 0 ? decoded : dropFirst(decoded, drop);
}

async function* dropFirst(
  pieces: AsyncIterable<Buffer>,
  bytes: number,
): AsyncGenerator<Buffer, void, undefined> {
  let drop = bytes;
  for await (const piece of pieces) {
    if (drop >= piece.length) {
      drop -= piece.length;
      continue;
    }
    yield drop === 0 ? piece : piece.subarray(drop);
    drop = 0;
  }
}

/** Whether a file can be read from an offset on, without reading what is before it. */
export function isSeekable({ dialect }: { readonly dialect: Dialect }): boolean {
  return !dialect.gzip && !isTranscoded(dialect) && dialect.quote !== 'none';
}

/** The physical line of a decoded offset of a file, from 1. Reads the file again, because only errors need it. */
export async function lineAt(
  file: { readonly path: string; readonly dialect: Dialect },
  offset: number,
): Promise<number> {
  let line = 1;
  let left = offset;
  for await (const piece of readDecoded(file, 0, {})) {
    line += countLineFeeds(piece, 0, Math.min(left, piece.length));
    left -= piece.length;
    if (left <= 0) break;
  }
  return line;
}

/** Quotes the fields that hold quotes, after the bytes that are skipped. */
async function* quoteFields(
  input: AsyncIterable<Buffer>,
  delimiter: string,
  skippedBytes: number,
): AsyncGenerator<Buffer, void, undefined> {
  const quoter = new TextQuoter(delimiter.charCodeAt(0));
  let left = skippedBytes;
  for await (const piece of input) {
    const skipped = Math.min(left, piece.length);
    left -= skipped;
    if (skipped > 0) yield piece.subarray(0, skipped);
    yield* quoter.take(piece.subarray(skipped));
  }
  yield* quoter.end();
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
  return bytes % 2 === 1 && /^(utf[^a-z]*16|ucs[^a-z]*2)/.test(encoding);
}

/** Stands for the half of a character. A record that holds it is bad. */
const REPLACEMENT = '\u{fffd}';

interface ReadFile {
  readonly path: string;
  /** Its size on disk, if the caller has looked at it. */
  readonly bytes?: number | undefined;
}

interface ReadOptions {
  readonly signal?: AbortSignal;
  /** Gets the bytes as they are on disk, in order. */
  readonly onRaw?: (bytes: Uint8Array) => void;
}

/**
 * Reads a file from the disk in pieces, and unzips gzip. Each piece is valid only until the next one is requested.
 *
 * @param start offset on disk; 0 for gzip.
 * @throws SourceError `SOURCE_MISSING` or `SOURCE_UNREADABLE`, also for broken gzip; the signal's reason.
 */
export async function* readUnzipped(
  file: ReadFile & { readonly gzip: boolean },
  start: number,
  options: ReadOptions,
): AsyncGenerator<Buffer, void, undefined> {
  const { signal, onRaw = () => undefined } = options;
  try {
    const unzipped = file.gzip
      ? unzip(file, onRaw)
      : watchPieces(readPieces(file.path, start, file.bytes), onRaw);
    for await (const piece of unzipped) {
      signal?.throwIfAborted();
      yield piece;
    }
  } catch (cause) {
    throw signal?.aborted
      ? signal.reason
      : cause instanceof SourceError
        ? cause
        : unreadable(file.path, cause);
  }
}

type OnRaw = NonNullable<ReadOptions['onRaw']>;

/** @throws what `checkPadding` throws; the errors of zlib and of the system. */
async function* unzip({ path, bytes }: ReadFile, onRaw: OnRaw): AsyncGenerator<Buffer, void, undefined> {
  const gunzip = createGunzip({ chunkSize: PIECE_BYTES });
  let read = 0;
  const raw = watchPieces(readPieces(path, 0, bytes), (piece) => {
    read += piece.length;
    onRaw(piece);
  });
  // Disk errors reach the loop too, because `pipeline` destroys the gunzip stream with them.
  const isRead = new Promise<void>((resolve) => pipeline(copyPieces(raw), gunzip, () => resolve()));
  yield* gunzip;
  await isRead;
  await checkPadding({ path, bytes }, gunzip.bytesWritten, (piece, at) => {
    const from = Math.max(read - at, 0);
    if (from < piece.length) onRaw(piece.subarray(from));
  });
}

/**
 * Reads what follows the gzip data: zlib ends at a zero byte, whatever comes after it.
 * @param onPiece gets each piece, and its offset in the file.
 * @throws SourceError `SOURCE_UNREADABLE` for other bytes than zero bytes, with which some programs fill up a block.
 */
async function checkPadding(
  { path, bytes }: ReadFile,
  start: number,
  onPiece: (piece: Buffer, at: number) => void,
): Promise<void> {
  if (start === bytes) return;
  let at = start;
  for await (const piece of readPieces(path, start, bytes)) {
    const other = piece.findIndex((byte) => byte !== 0);
    if (other !== -1) {
      throw new SourceError('SOURCE_UNREADABLE', `${path}: bytes that are not gzip follow the gzip data`, {
        hint: 'copy the file again, or compress it again',
        facts: { file: path, byte: at + other },
      });
    }
    onPiece(piece, at);
    at += piece.length;
  }
}

/** Whether a file is gzip, by its first two bytes (RFC 1952, 2.3.1), not by its name. */
export function isGzip(begin: Uint8Array): boolean {
  return begin[0] === 0x1f && begin[1] === 0x8b;
}

/** Copies each piece, for a consumer that requests the next piece before it has used the last one. */
async function* copyPieces(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  for await (const piece of pieces) yield Buffer.from(piece);
}
