/** A first look at one file of a source: dialect, columns, and where its records begin. */
import iconv from 'iconv-lite';
import { SourceError } from '../errors/index.js';
import type { Dialect } from '../types.js';
import { LF } from './ascii.js';
import { detectDialect, type FixedDialect } from './detect-dialect.js';
import { type FileStamp, fileStamp } from './file-stamp.js';
import { isTranscoded } from './read-decoded.js';
import { readHeader } from './read-header.js';
import { isGzip, readUnzipped } from './read-unzipped.js';
import { refuseArchive } from './refuse-archive.js';

/** Unzipped bytes that are looked at; the header must lie within. */
const SAMPLE_BYTES = 256 * 1024;

export interface InspectedFile extends FileStamp {
  readonly path: string;
  readonly dialect: Dialect;
  readonly columns: readonly string[];
  /** Decoded bytes before the first record. */
  readonly dataStart: number;
  /** Physical line on which the first record may begin. */
  readonly firstLine: number;
}

/**
 * Reads a file's first bytes.
 *
 * @throws SourceError when there is no file, nothing in it, or no usable header; ConfigError for what
 * `fixed` has wrong.
 */
export async function inspectFile(path: string, fixed: Omit<FixedDialect, 'gzip'>): Promise<InspectedFile> {
  const { bytes, stamp } = await fileStamp(path);
  const gzip = await isGzip(path);
  const sample = await readSample(path, gzip);
  if (sample.length === 0) {
    throw new SourceError('SOURCE_EMPTY', `${path}: the file is empty${gzip ? ' once it is unzipped' : ''}`, {
      hint: 'was it written completely? check what makes it',
      facts: { file: path },
    });
  }
  refuseArchive(sample, path);
  const dialect = detectDialect(sample, { ...fixed, gzip });
  const decoded = decode(sample, dialect);
  const header = readHeader(decoded, dialect.delimiter, path);
  if (header.bytes === decoded.length && sample.length === SAMPLE_BYTES) {
    throw new SourceError(
      'SOURCE_RECORD_TOO_LARGE',
      `${path}: header (line 1, byte 0): no end within ${SAMPLE_BYTES} bytes`,
      {
        hint: 'is this a CSV file, with LF or CRLF at the end of its lines?',
        facts: { file: path, line: 1, byte: 0 },
      },
    );
  }
  if (isTranscoded(dialect) && header.columns.some((column) => column.includes('\u{fffd}'))) {
    throw new SourceError(
      'SOURCE_ENCODING',
      `${path}: header (line 1, byte 0): bytes without meaning in ${dialect.encoding}`,
      {
        hint: 'set source.encoding to what the file is really written in, such as utf8 or windows-1252',
        facts: { file: path, line: 1, byte: 0 },
      },
    );
  }
  const head = decoded.subarray(0, header.bytes);
  const firstLine = 1 + head.reduce((lines, byte) => (byte === LF ? lines + 1 : lines), 0);
  return { path, bytes, stamp, dialect, columns: header.columns, dataStart: header.bytes, firstLine };
}

async function readSample(path: string, gzip: boolean): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of readUnzipped({ path, gzip }, 0, {})) {
    pieces.push(Buffer.from(piece));
    size += piece.length;
    if (size >= SAMPLE_BYTES) break;
  }
  return Buffer.concat(pieces).subarray(0, SAMPLE_BYTES);
}

function decode(sample: Buffer, dialect: Dialect): Buffer {
  if (isTranscoded(dialect)) return Buffer.from(iconv.decode(sample, dialect.encoding));
  return dialect.bom ? sample.subarray(3) : sample;
}
