/** Recognizes files that are not CSV, or another kind of it, so that the message can name the kind. */
import { detectDelimiter } from '../csv/detect-dialect.js';
import { findEscapes } from '../csv/escaped-text.js';
import { SourceError } from '../errors.js';

/**
 * Recognizes common files that are not CSV, so that the message can name the kind.
 *
 * @param sample a file's first bytes, unzipped.
 * @throws SourceError `SOURCE_NOT_CSV` for archives, workbooks, databases, JSON, web pages, and files compressed by
 *   another program than gzip.
 */
export function refuseArchive(sample: Buffer, path: string): void {
  const kind = KINDS.find(
    ({ at, bytes, nulAt }) =>
      sample.subarray(at, at + bytes.length).equals(bytes) && (nulAt === undefined || sample[nulAt] === 0),
  );
  const found = kind === ZIP ? zipKind(sample) : (kind ?? textKind(sample));
  if (found === undefined) return;
  throw new SourceError('SOURCE_NOT_CSV', `${path}: this is ${found.what}, not a CSV file`, {
    hint: found.hint,
    facts: { file: path, kind: found.what },
  });
}

interface Kind {
  readonly what: string;
  readonly hint: string;
}

/** A kind of file that is not text, with the bytes that identify it. */
interface FileKind extends Kind {
  /** Offset of `bytes` in the file. */
  readonly at: number;
  readonly bytes: Buffer;
  /** Where a zero byte is, if a text may hold the bytes too. */
  readonly nulAt?: number;
}

const hex = (text: string) => Buffer.from(text, 'hex');

const UNPACK = 'unpack it first; the only compressed files that are read are gzip files';
const WORKBOOK = 'save the sheet as CSV UTF-8 in the program that opens it, and name that file';
const IN_DUCKDB = 'a DuckDB file is read by source.query (docs/sources.md)';

const ZIP: FileKind = { what: 'a zip archive', at: 0, bytes: hex('504b0304'), hint: UNPACK };

/** A text never begins with one of these. In bzip2, the digits of pi follow the name and the block size. */
const KINDS: readonly FileKind[] = [
  ZIP,
  { what: 'an .xls workbook', at: 0, bytes: hex('d0cf11e0a1b11ae1'), hint: WORKBOOK },
  {
    what: 'a Parquet file',
    at: 0,
    // The mark, and the first byte of a page.
    bytes: hex('5041523115'),
    hint: 'let its name end in .parquet: then it is read as Parquet; or save it as CSV',
  },
  { what: 'an Avro file', at: 0, bytes: hex('4f626a01'), hint: 'save it as CSV or Parquet' },
  {
    what: 'an SQLite database',
    at: 0,
    bytes: Buffer.from('SQLite format 3\0'),
    hint: 'export its table as CSV: sqlite3 -header -csv FILE "select * from TABLE" > businesses.csv',
  },
  { what: 'a DuckDB database', at: 8, bytes: Buffer.from('DUCK'), nulAt: 13, hint: IN_DUCKDB },
  { what: 'a PDF', at: 0, bytes: Buffer.from('%PDF-'), hint: 'ask for the same data as CSV' },
  { what: 'a tar archive', at: 256, bytes: Buffer.from('\0ustar'), hint: UNPACK },
  { what: 'gzip within gzip', at: 0, bytes: hex('1f8b08'), hint: 'unpack it once: gunzip' },
  { what: 'a file compressed by xz', at: 0, bytes: hex('fd377a585a00'), hint: UNPACK },
  { what: 'a file compressed by zstd', at: 0, bytes: hex('28b52ffd'), hint: UNPACK },
  { what: 'a file compressed by bzip2', at: 0, bytes: hex('425a6839314159265359'), hint: UNPACK },
];

/** A workbook is a zip archive too. Its names are at the beginning, uncompressed. */
function zipKind(sample: Buffer): Kind {
  const names = sample.subarray(0, 4_096).toString('latin1');
  if (/\[Content_Types\]\.xml|_rels\/|\bxl\//.test(names))
    return { what: 'an .xlsx workbook', hint: WORKBOOK };
  if (names.includes('opendocument.spreadsheet')) return { what: 'an .ods workbook', hint: WORKBOOK };
  return ZIP;
}

/** The kind of a text that begins in a way that no header of a CSV does. */
function textKind(sample: Buffer): Kind | undefined {
  const text = sample
    .subarray(0, 1_024)
    .toString('utf8')
    .replace(/^[\ufeff\s]+/, '');
  if (/^(?:\{\s*(?:"(?:[^"\\]|\\.)*"\s*:|\})|\[\s*[{[])/.test(text)) {
    return {
      what: 'JSON',
      hint: "write it as CSV first, such as with: duckdb -c \"copy (from 'FILE.json') to 'businesses.csv'\"",
    };
  }
  if (text.startsWith('version https://git-lfs.github.com/')) {
    return { what: 'a pointer of Git LFS', hint: 'fetch the file itself: git lfs pull' };
  }
  if (/^<(?:!doctype|html|\?xml)\b/i.test(text)) {
    return {
      what: 'HTML or XML',
      hint: 'is it an error page or a login page, saved in place of the file? look into it, and get the file again',
    };
  }
  return undefined;
}

/**
 * @param text the first text of a file.
 * @param read the delimiter with which it is read, a byte. If it was detected, it may be wrong, so the text is also read
 *   with the delimiter that is detected if quotes are text.
 * @throws SourceError `SOURCE_ESCAPED` for text in which backslashes do what quotes do in CSV.
 */
export function refuseEscaped(
  text: Buffer,
  path: string,
  read: { readonly delimiter: number; readonly isFixed: boolean; readonly isWhole: boolean },
): void {
  if (!text.includes('\\')) return;
  const { delimiter, isFixed, isWhole } = read;
  const other = isFixed ? delimiter : detectDelimiter(text, false).delimiter;
  const escapes =
    findEscapes(text, delimiter, isWhole) ??
    (other === delimiter ? undefined : findEscapes(text, other, isWhole));
  if (escapes === undefined) return;
  const why =
    escapes === 'nulls'
      ? 'fields are \\N, which stands for NULL'
      : 'records have as many fields as the first one only if a backslash escapes the delimiter or line end after it';
  throw new SourceError(
    'SOURCE_ESCAPED',
    `${path}: this is not CSV but text with backslashes, such as an unload of Snowflake without quotes: ${why}`,
    {
      hint:
        "unload again with FILE_FORMAT = (TYPE = CSV FIELD_OPTIONALLY_ENCLOSED_BY = '\"' NULL_IF = ()) HEADER = TRUE " +
        '(Postgres: COPY ... TO ... WITH (FORMAT csv, HEADER)); ' +
        'if backslashes and quotes are plain text in this file, say so with source.quote: none',
      facts: { file: path, escapes },
    },
  );
}
