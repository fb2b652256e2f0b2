/**
 * Doubts the header of a source before anything is paid: a file without a header whose first record was taken for one,
 * a file with a header that `source.header` sends as a record, and one that says that it is UTF-8 and is read as
 * something else (docs/configuration.md#a-header-that-may-be-none).
 */
import type { Config } from '../../config/schema.js';
import { beginsWithMisreadMark } from '../../csv/detect-encoding.js';
import { cellLikeValue } from '../../source/value-kinds.js';
import { showText } from '../../text.js';
import { type FirstFile, firstValues } from './look-at-source.js';

/** How many records are looked at. */
const LOOKED_AT = 20;

/**
 * @param file the first file of the source.
 * @returns what is doubtful, and how to correct it; undefined if nothing is, or if a database or a Parquet file names the
 *   columns.
 */
export async function doubtHeader(
  { source, upload }: Pick<Config, 'source' | 'upload'>,
  file: FirstFile,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (source.isOurs) return undefined;
  const { columns, dialect } = file;
  if (beginsWithMisreadMark(columns[0] ?? '', dialect.encoding)) {
    return `the header of ${file.path} begins with the byte order mark of UTF-8, and is read as ${dialect.encoding}: letters beyond ASCII would be sent and published wrong; remove source.encoding`;
  }
  const { records } = await firstValues(file, LOOKED_AT, signal);
  const sent = Object.values(upload.columns);
  if (Array.isArray(source.header)) {
    const [first] = records;
    const isHeader = first !== undefined && sent.every((name) => isSame(first[columns.indexOf(name)], name));
    return isHeader
      ? `the first record of ${file.path} holds the names of its columns, and would be sent and paid for; if it is the header, remove source.header`
      : undefined;
  }
  const cell = cellLikeValue(columns, records, (column) => sent.includes(column));
  return cell === undefined
    ? undefined
    : `the header of ${file.path} looks like a record: it holds ${showText(cell)}, as the records below it; if the file has no header, its first record would be lost: name the columns in the config, with source.header: [${namesFor(columns.length)}]`;
}

/** Such as `column1, column2, ..., column33`. */
function namesFor(columns: number): string {
  const names = Array.from({ length: columns }, (_, at) => `column${at + 1}`);
  return (columns > 6 ? [...names.slice(0, 2), '...', names.at(-1)] : names).join(', ');
}

/** Whether a field holds the name of its column, apart from case, blanks and punctuation. */
function isSame(value: string | undefined, name: string): boolean {
  const bare = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  return value !== undefined && bare(value) !== '' && bare(value) === bare(name);
}
