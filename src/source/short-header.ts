/** Recognizes a header with one name fewer than the records have fields, as R's `write.table` writes it. */
import { parse } from 'csv-parse/sync';
import { LF } from '../csv/bytes.js';
import { readWith } from '../csv/detect-dialect.js';
import { SourceError } from '../errors.js';
import { countOf } from '../quantities.js';

/** How many records are looked at. */
const LOOKED_AT = 20;

/** The records are looked for in this many bytes after the header. */
const SAMPLE_BYTES = 64 * 1024;

interface HeaderOfFile {
  readonly path: string;
  readonly delimiter: string;
  readonly columns: readonly string[];
  /** Lines up to the end of the header. */
  readonly lines: number;
}

/**
 * @param text what follows the header.
 * @throws SourceError `SOURCE_HEADER_SHORT` when each of the first records has one field more than the header, and the
 *   first fields number the records, or the last ones are empty. Any other difference is left to the check of each record.
 */
export function refuseShortHeader(text: Buffer, header: HeaderOfFile): void {
  const { path, columns } = header;
  if (isFirstAsLong(text, header)) return;
  const records = firstRecords(text.subarray(0, SAMPLE_BYTES), header.delimiter);
  if (records.length < 2 || records.some((record) => record.length !== columns.length + 1)) return;
  const isNumbered = records.every((record, at) => Number(record[0]) === Number(records[0]![0]) + at);
  if (!isNumbered && records.some((record) => record.at(-1) !== '')) return;
  const what = isNumbered
    ? "the first ones are row numbers without a name, as R's write.table writes them"
    : 'the last ones are empty, because each record ends with a delimiter';
  const instead = isNumbered
    ? 'write the file again with row.names = FALSE, or with col.names = NA'
    : 'write the file again without the delimiter at the end of each record';
  const names = isNumbered
    ? [freeName('row', columns), ...columns]
    : [...columns, freeName('empty', columns)];
  throw new SourceError(
    'SOURCE_HEADER_SHORT',
    `${path}: the header has ${countOf(columns.length, 'name')}, and each record has ${columns.length + 1} fields: ${what}`,
    {
      hint: `${instead};\nor read it as it is: ${asItIs(names, header.lines)}`,
      facts: { file: path, names: columns.length, fields: columns.length + 1, lines: header.lines },
    },
  );
}

/**
 * Whether the first record is one line and has as many fields as the header. Saves the parsing, because a source may have
 * thousands of files.
 */
function isFirstAsLong(text: Buffer, { delimiter, columns }: HeaderOfFile): boolean {
  const line = text.subarray(0, text.indexOf(LF) + 1);
  const first = readWith(line, delimiter.charCodeAt(0), true);
  return first.lf + first.crlf === 1 && first.columns === columns.length;
}

/** The first records; none if they are malformed. Leaves out the last one, because the sample may cut it off. */
function firstRecords(sample: Buffer, delimiter: string): string[][] {
  const end = sample.lastIndexOf('\n') + 1;
  try {
    return parse(sample.subarray(0, end), {
      delimiter,
      record_delimiter: ['\r\n', '\n'],
      skip_empty_lines: true,
      relax_column_count: true,
      to: LOOKED_AT,
    });
  } catch {
    return [];
  }
}

function freeName(wanted: string, columns: readonly string[]): string {
  return columns.includes(wanted) ? freeName(`${wanted}_`, columns) : wanted;
}

/** Names that need no care in YAML and in a shell. */
const PLAIN = /^[\p{L}\p{N}_][\p{L}\p{N}_. -]*$/u;

/** The commands that read the file unchanged; only the config keys if the names are many or unusual. */
function asItIs(names: readonly string[], lines: number): string {
  const list = names.map((name) => JSON.stringify(name)).join(', ');
  const flags = `--set source.skipLines=${lines} --set 'source.header=[${list}]'`;
  return list.length <= 400 && names.every((name) => PLAIN.test(name))
    ? `foliopipe plan ${flags} shows what is read then;\nthen: foliopipe run ${flags}`
    : `set source.skipLines: ${lines}, and name all ${names.length} columns in source.header`;
}
