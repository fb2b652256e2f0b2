/** Inspects the beginning of one source file: dialect, columns, and where its records begin. */
import iconv from 'iconv-lite';
import { LF, UTF8_BOM } from '../csv/bytes.js';
import { detectDialect, type FixedDialect } from '../csv/detect-dialect.js';
import { readHeader } from '../csv/read-header.js';
import { SourceError } from '../errors.js';
import type { Dialect } from '../types.js';
import { isGzip, isTranscoded, readUnzipped } from './read-decoded.js';
import { type FileStamp, fileStamp } from './source-files.js';

/** How many unzipped bytes are read. The header must end within them. */
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
 * Reads the beginning of a file and finds its dialect and columns.
 *
 * @param fixed encoding and delimiter of the config.
 * @throws SourceError when the file is missing, empty, or has no usable header; ConfigError when `fixed` is invalid.
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
      `${path}: header (line 1, byte 0): bytes that are not valid ${dialect.encoding}`,
      {
        hint: "set source.encoding to the file's real encoding, such as utf8 or windows-1252",
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
  return dialect.bom ? sample.subarray(UTF8_BOM.length) : sample;
}

/**
 * Recognizes common files that are not CSV, so that the message can name the kind.
 *
 * @param sample a file's first bytes, unzipped.
 * @throws SourceError `SOURCE_NOT_CSV` for archives, workbooks, and files compressed by another program than gzip.
 */
function refuseArchive(sample: Buffer, path: string): void {
  const kind = KINDS.find(({ at, bytes }) => sample.subarray(at, at + bytes.length).equals(bytes));
  if (kind === undefined) return;
  throw new SourceError('SOURCE_NOT_CSV', `${path}: this is ${kind.what}, not a CSV file`, {
    hint: 'unpack it, or save it as CSV; the only compressed files that are read are gzip files',
    facts: { file: path, kind: kind.what },
  });
}

/** A kind of file that is not text, with the bytes that identify it. */
interface FileKind {
  readonly what: string;
  /** Offset of `bytes` in the file. */
  readonly at: number;
  readonly bytes: Buffer;
}

const hex = (text: string) => Buffer.from(text, 'hex');

/** A text never begins with one of these. In bzip2, the digits of pi follow the name and the block size. */
const KINDS: readonly FileKind[] = [
  { what: 'a zip archive or an .xlsx workbook', at: 0, bytes: hex('504b0304') },
  { what: 'an .xls workbook', at: 0, bytes: hex('d0cf11e0a1b11ae1') },
  { what: 'a tar archive', at: 256, bytes: Buffer.from('\0ustar') },
  { what: 'gzip within gzip', at: 0, bytes: hex('1f8b08') },
  { what: 'a file compressed by xz', at: 0, bytes: hex('fd377a585a00') },
  { what: 'a file compressed by zstd', at: 0, bytes: hex('28b52ffd') },
  { what: 'a file compressed by bzip2', at: 0, bytes: hex('425a6839314159265359') },
];
