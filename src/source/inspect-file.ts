/** Inspects the beginning of one source file: dialect, columns, and where its records begin. */
import iconv from 'iconv-lite';
import { countLineFeeds, UTF8_BOM } from '../csv/bytes.js';
import { detectDialect } from '../csv/detect-dialect.js';
import { detectEncoding } from '../csv/detect-encoding.js';
import { quoteText } from '../csv/quote-text.js';
import { SourceError } from '../errors.js';
import { giveBack, takeBuffer } from '../streams/large-buffers.js';
import type { Dialect } from '../types.js';
import { type HeaderOption, readColumns } from './read-columns.js';
import { isGzip, isTranscoded, readUnzipped } from './read-decoded.js';
import { refuseArchive, refuseEscaped } from './refuse-kinds.js';
import { refuseShortHeader } from './short-header.js';
import { type SkippedLines, skipLines } from './skip-lines.js';
import { type FileStamp, fileStamp } from './source-files.js';

/** How many unzipped bytes are read. The header must end within them. */
const SAMPLE_BYTES = 256 * 1024;

/** How the files of a source are read: the section `source` of the config. */
export interface SourceFormat {
  /** `auto`, or a name that iconv-lite knows. */
  readonly encoding: string;
  /** `auto`, or one ASCII character. */
  readonly delimiter: string;
  /** `none`: quotes are text. Default: `auto`. */
  readonly quote?: 'auto' | 'none';
  /** Default: `first`. */
  readonly header?: HeaderOption | undefined;
  /** Lines before the header of each file. Default: 0. */
  readonly skipLines?: number | undefined;
  /** Whether foliopipe has written the files itself, as CSV with quotes: no other kind of text is looked for. */
  readonly isOurs?: boolean;
}

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
 * @throws SourceError when the file is missing, empty, escaped by backslashes, or has no usable header; ConfigError when
 *   the format is invalid.
 */
export async function inspectFile(path: string, format: SourceFormat): Promise<InspectedFile> {
  const { bytes, stamp } = await fileStamp(path);
  const found = await readSample({ path, bytes });
  try {
    return { path, bytes, stamp, ...(await inspectSample(path, found, format)) };
  } finally {
    giveBack(found.sample);
  }
}

async function inspectSample(
  path: string,
  { sample, gzip }: Sample,
  format: SourceFormat,
): Promise<Omit<InspectedFile, keyof FileStamp | 'path'>> {
  if (sample.length === 0) {
    throw new SourceError('SOURCE_EMPTY', `${path}: the file is empty${gzip ? ' once it is unzipped' : ''}`, {
      hint: 'was it written completely? check what makes it',
      facts: { file: path },
    });
  }
  if (!format.isOurs) refuseArchive(sample, path);
  const encoding = detectEncoding(sample, format.encoding);
  const skipped = await beginning({ path, sample, dialect: { ...UNKNOWN, ...encoding, gzip } }, format);
  const { text, isWhole } = skipped;
  const found = detectDialect(text, encoding, { ...format, gzip });
  const dialect = { ...found, ...(skipped.bytes > 0 && { skippedBytes: skipped.bytes }) };
  const delimiter = dialect.delimiter.charCodeAt(0);
  if (dialect.quote !== 'none' && !format.isOurs)
    refuseEscaped(text, path, { delimiter, isWhole, isFixed: format.delimiter !== 'auto' });

  const decoded = dialect.quote === 'none' ? quoteText(text, delimiter) : text;
  const isMarkedUtf8 = dialect.bom && dialect.encoding === 'utf8';
  const place = { name: path, line: 1 + skipped.lineFeeds, byte: skipped.bytes, isMarkedUtf8 };
  const option = format.header ?? 'first';
  const header = readColumns(decoded, { dialect, place, isWhole }, option);
  const lines = countLineFeeds(decoded, 0, header.bytes);
  const { columns } = header;
  if (typeof option === 'string') {
    const upTo = (format.skipLines ?? 0) + lines;
    refuseShortHeader(decoded.subarray(header.bytes), {
      path,
      delimiter: dialect.delimiter,
      columns,
      lines: upTo,
    });
  }
  return {
    dialect,
    columns,
    dataStart: skipped.bytes + header.bytes,
    firstLine: place.line + lines,
  };
}

/** Placeholders for what is known only after a look at the text. */
const UNKNOWN = { delimiter: ',', newline: 'none' } as const;

/** The decoded text from the header on. */
async function beginning(
  { path, sample, dialect }: { readonly path: string; readonly sample: Buffer; readonly dialect: Dialect },
  format: SourceFormat,
): Promise<SkippedLines> {
  if (format.skipLines) return skipLines({ path, dialect }, format.skipLines, SAMPLE_BYTES);
  return { text: decode(sample, dialect), isWhole: sample.length < SAMPLE_BYTES, bytes: 0, lineFeeds: 0 };
}

/** The beginning of a file, unzipped, in a buffer of `takeBuffer`. */
interface Sample {
  readonly sample: Buffer;
  readonly gzip: boolean;
}

async function readSample(file: Pick<InspectedFile, 'path' | 'bytes'>): Promise<Sample> {
  const raw = await readBeginning({ ...file, gzip: false });
  if (!isGzip(raw)) return { sample: raw, gzip: false };
  giveBack(raw);
  return { sample: await readBeginning({ ...file, gzip: true }), gzip: true };
}

async function readBeginning(file: Parameters<typeof readUnzipped>[0]): Promise<Buffer> {
  const sample = takeBuffer(SAMPLE_BYTES);
  let size = 0;
  try {
    for await (const piece of readUnzipped(file, 0, {})) {
      size += piece.copy(sample, size);
      if (size === SAMPLE_BYTES) break;
    }
    return sample.subarray(0, size);
  } catch (error) {
    giveBack(sample);
    throw error;
  }
}

function decode(sample: Buffer, dialect: Dialect): Buffer {
  if (isTranscoded(dialect)) return Buffer.from(iconv.decode(sample, dialect.encoding));
  return dialect.bom ? sample.subarray(UTF8_BOM.length) : sample;
}
