/** Recognizes files that are not CSV, or another kind of it, so that the message can name the kind. */
import { detectDelimiter } from '../csv/detect-delimiter.js';
import { findEscapes } from '../csv/escaped-text.js';
import { SourceError } from '../errors.js';

/**
 * Recognizes common files that are not CSV, so that the message can name the kind.
 *
 * @param sample a file's first bytes, unzipped.
 * @throws SourceError `SOURCE_NOT_CSV` for archives, workbooks, and files compressed by another program than gzip.
 */
export function refuseArchive(sample: Buffer, path: string): void {
  const kind = KINDS.find(({ at, bytes }) => sample.subarray(at, at + bytes.length).equals(bytes));
  if (kind === undefined) return;
  throw new SourceError('SOURCE_NOT_CSV', `${path}: this is ${kind.what}, not a CSV file`, {
    hint: kind.hint ?? 'unpack it, or save it as CSV; the only compressed files that are read are gzip files',
    facts: { file: path, kind: kind.what },
  });
}

/** A kind of file that is not text, with the bytes that identify it. */
interface FileKind {
  readonly what: string;
  /** Offset of `bytes` in the file. */
  readonly at: number;
  readonly bytes: Buffer;
  readonly hint?: string;
}

const hex = (text: string) => Buffer.from(text, 'hex');

/** A text never begins with one of these. In bzip2, the digits of pi follow the name and the block size. */
const KINDS: readonly FileKind[] = [
  { what: 'a zip archive or an .xlsx workbook', at: 0, bytes: hex('504b0304') },
  { what: 'an .xls workbook', at: 0, bytes: hex('d0cf11e0a1b11ae1') },
  {
    what: 'a Parquet file',
    at: 0,
    // The mark, and the first byte of a page.
    bytes: hex('5041523115'),
    hint: 'let its name end in .parquet, or save it as CSV',
  },
  { what: 'a tar archive', at: 256, bytes: Buffer.from('\0ustar') },
  { what: 'gzip within gzip', at: 0, bytes: hex('1f8b08') },
  { what: 'a file compressed by xz', at: 0, bytes: hex('fd377a585a00') },
  { what: 'a file compressed by zstd', at: 0, bytes: hex('28b52ffd') },
  { what: 'a file compressed by bzip2', at: 0, bytes: hex('425a6839314159265359') },
];

/**
 * @param text the first text of a file.
 * @param read the delimiter with which it is read, a byte. If it was detected, it may be wrong: a text in which quotes
 *   mean nothing is looked at with the delimiter that is found without them, too.
 * @throws SourceError `SOURCE_ESCAPED` for text in which backslashes do what quotes do in CSV.
 */
export function refuseEscaped(
  text: Buffer,
  path: string,
  read: { readonly delimiter: number; readonly isFixed: boolean; readonly isWhole: boolean },
): void {
  const { delimiter, isFixed, isWhole } = read;
  const other = isFixed ? delimiter : detectDelimiter(text, false).delimiter;
  const escapes =
    findEscapes(text, delimiter, isWhole) ??
    (other === delimiter ? undefined : findEscapes(text, other, isWhole));
  if (escapes === undefined) return;
  const why =
    escapes === 'nulls'
      ? 'fields are \\N, which stands for NULL'
      : 'records have as many fields as the first one only if a backslash takes the meaning from the delimiter or line end behind it';
  throw new SourceError(
    'SOURCE_ESCAPED',
    `${path}: this is no CSV but text with backslashes, such as an unload of Snowflake without quotes: ${why}`,
    {
      hint:
        "unload again with FILE_FORMAT = (TYPE = CSV FIELD_OPTIONALLY_ENCLOSED_BY = '\"' NULL_IF = ()) HEADER = TRUE " +
        '(Postgres: COPY ... TO ... WITH (FORMAT csv, HEADER)); ' +
        'if backslashes and quotes are plain text in this file, say so with source.quote: none',
      facts: { file: path, escapes },
    },
  );
}
