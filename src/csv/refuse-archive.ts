/** Tells a file that is no text at all from a malformed CSV, by the bytes with which it begins. */
import { SourceError } from '../errors/index.js';

interface Kind {
  readonly what: string;
  readonly at: number;
  readonly bytes: Buffer;
}

const hex = (text: string) => Buffer.from(text, 'hex');

/** Each of them has bytes that no text begins with. Behind bzip2's name and block size stand the digits of pi. */
const KINDS: readonly Kind[] = [
  { what: 'a zip archive or an .xlsx workbook', at: 0, bytes: hex('504b0304') },
  { what: 'an .xls workbook', at: 0, bytes: hex('d0cf11e0a1b11ae1') },
  { what: 'a tar archive', at: 256, bytes: Buffer.from('\0ustar') },
  { what: 'gzip within gzip', at: 0, bytes: hex('1f8b08') },
  { what: 'a file compressed by xz', at: 0, bytes: hex('fd377a585a00') },
  { what: 'a file compressed by zstd', at: 0, bytes: hex('28b52ffd') },
  { what: 'a file compressed by bzip2', at: 0, bytes: hex('425a6839314159265359') },
];

/**
 * @param sample a file's first bytes, unzipped.
 * @throws SourceError `SOURCE_NOT_CSV` for archives, workbooks, and files compressed otherwise than by gzip.
 */
export function refuseArchive(sample: Buffer, path: string): void {
  const kind = KINDS.find(({ at, bytes }) => sample.subarray(at, at + bytes.length).equals(bytes));
  if (kind === undefined) return;
  throw new SourceError('SOURCE_NOT_CSV', `${path}: this is ${kind.what}, not a CSV file`, {
    hint: 'unpack it, or save it as CSV; of compressed files only gzip is read as it stands',
    facts: { file: path, kind: kind.what },
  });
}
