/**
 * Reads the whole source once and checks the shape of every record, before anything is paid. Rule "Check before paying":
 * docs/architecture.md#check-before-paying.
 */
import { createHash } from 'node:crypto';
import { badRecordHint, badRecordText, type ReadAs } from '../csv/bad-record.js';
import { delimiterText } from '../csv/detect-dialect.js';
import { ConfigError, SourceError } from '../errors.js';
import { formatCount } from '../quantities.js';
import { showText } from '../text.js';
import type { Dialect, Source, SourceFile } from '../types.js';
import { type KeyOptions, openKeyCheck } from './check-keys.js';
import { createColumnBytes } from './column-bytes.js';
import { type InspectedFile, inspectFile, type SourceFormat } from './inspect-file.js';
import { excessError, hopelessError, isStrict, isWithinLimit } from './reject-limit.js';
import { type ScanFileOptions, scanFile, type Totals } from './scan-file.js';

/** How a source is checked. */
export interface ScanSourceOptions extends SourceFormat, Omit<ScanFileOptions, 'sentFields' | 'onHopeless'> {
  /** The source's files, in order. */
  readonly paths: readonly string[];
  /** Source columns: records that are blank in all of them count as `blank`. Left out: no record does. */
  readonly sentColumns?: readonly string[];
  /** Checks the columns that name a record; left out if none do. */
  readonly keyCheck?: KeyOptions;
  /** Gets the columns before the records are read, and throws if they do not fit. */
  readonly onHeader?: (header: {
    readonly columns: readonly string[];
    readonly files: readonly { readonly dialect: Dialect }[];
  }) => void;
  /** Gets the error for too many bad or blank records at the end of the source. Left out: the error is thrown. */
  readonly onExcess?: ((error: SourceError) => void) | undefined;
}

/**
 * Reads all files to their end and returns their dialects, columns, counts and hashes.
 *
 * The `sha256` of a source with one file is the hash of the file. For several files it is the hash of their hex hashes
 * in order, each followed by LF. With a limit it is a hash of these and of the limit.
 *
 * @throws SourceError naming file, record, line and byte of the problem; ConfigError for an unknown encoding or
 * delimiter, or when no record can fit into a chunk; the signal's reason.
 */
export async function scanSource(options: ScanSourceOptions): Promise<Source> {
  checkRecordFits(options.maxRecordBytes);
  const inspected: InspectedFile[] = [];
  for (const path of options.paths) {
    options.signal.throwIfAborted();
    inspected.push(await inspectFile(path, options));
  }
  const [first, ...others] = inspected;
  if (first === undefined) {
    throw new SourceError('SOURCE_MISSING', 'the source has no file', { hint: 'check source.path' });
  }
  for (const other of others) checkSameColumns(first, other);
  options.onHeader?.({ columns: first.columns, files: inspected });
  await options.watch?.begin(first.columns, first.dialect.delimiter);

  const sentFields = fieldsOf(first, options.sentColumns ?? []);
  const { maxRejected, isOurs = false } = options;
  let excess: SourceError | undefined;
  const readAs = {
    delimiter: delimiterText(first.dialect.delimiter, options.delimiter),
    isOurs,
    isMarkedUtf8: inspected.every(({ dialect }) => dialect.bom && dialect.encoding === 'utf8'),
  };
  const onHopeless = ({ firstBad, records }: Totals) => {
    if (isStrict(maxRejected)) throw hopelessError(firstBad, records, readAs);
  };
  const totals: Totals = {
    bytes: 0,
    records: 0,
    rejected: 0,
    blank: 0,
    firstBad: [],
    firstBlanks: [],
    columnBytes: createColumnBytes(first.columns.length),
  };
  const files: SourceFile[] = [];
  const keys = hasColumns(first, options.keyCheck)
    ? openKeyCheck(options.keyCheck, first.columns)
    : undefined;
  try {
    for (const [index, file] of inspected.entries()) {
      files.push(await scanFile(file, index, totals, { ...options, sentFields, onHopeless }, keys));
    }
    if (!isWithinLimit(totals, maxRejected)) {
      const sent = { columns: options.sentColumns ?? [], sourceColumns: first.columns };
      excess = await excessError({ ...totals, ...sent, readAs }, maxRejected);
      if (options.onExcess === undefined) throw excess;
    }
    await keys?.end({ files, columns: first.columns }, options.maxRecordBytes).catch((error: unknown) => {
      throw excess ?? error;
    });
  } finally {
    keys?.close();
  }
  const { records, rejected, blank } = totals;
  const { limit } = options;
  if (records === rejected) throw excess ?? noRecordsError(options, first, readAs, totals);
  if (excess !== undefined) options.onExcess?.(excess);
  const skipped = blank > 0 && { blank };
  const columns = { columns: first.columns, columnBytes: totals.columnBytes.average() };
  const found = { files, ...columns, records, rejected, ...skipped };
  return { ...found, ...(limit !== undefined && { limit }), sha256: hashOf(files, limit) };
}

/** The error for a source without a good record. @param totals what was read; left out if there was nothing. */
export function noRecordsError(
  { header, isOurs, paths }: Pick<SourceFormat, 'header' | 'isOurs'> & { readonly paths: readonly string[] },
  { path, dialect }: Pick<InspectedFile, 'path' | 'dialect'>,
  readAs: ReadAs,
  { records, rejected, firstBad: [first] }: Pick<Totals, 'records' | 'rejected' | 'firstBad'> = nothing,
): SourceError {
  const none = isOurs ? 'columns and no row' : Array.isArray(header) ? 'no record' : 'a header and no record';
  const found =
    first === undefined
      ? none
      : `no good ${isOurs ? 'row' : 'record'} among ${formatCount(records)}, the first is ${badRecordText(first.bad)}`;
  const how = isOurs ? '' : ` (encoding ${dialect.encoding}, delimiter ${readAs.delimiter})`;
  const why = isOurs
    ? 'look why there is none: check source.query.sql, or the program that writes the Parquet file'
    : 'check the program that writes the file; if it has records, check source.encoding and source.delimiter';
  return new SourceError('SOURCE_NO_RECORDS', `${paths.join(', ')}: ${found}${how}`, {
    hint: first === undefined ? why : badRecordHint(first.bad, readAs),
    facts: { file: path, records, rejected },
  });
}

const nothing = { records: 0, rejected: 0, firstBad: [] };

/**
 * Whether the source has each column of the key once. Otherwise the config or the header is wrong, which the check of all
 * columns of the config reports.
 */
function hasColumns(file: InspectedFile, key: KeyOptions | undefined): key is KeyOptions {
  return key !== undefined && fieldsOf(file, key.columns).length > 0;
}

/** Indexes of the columns; none if the source does not have each of them once. */
function fieldsOf({ columns }: InspectedFile, wanted: readonly string[]): readonly number[] {
  const isOnce = (column: string) => columns.indexOf(column) === columns.lastIndexOf(column);
  const fields = wanted.map((column) => columns.indexOf(column));
  return fields.includes(-1) || !wanted.every(isOnce) ? [] : fields;
}

/** @throws ConfigError when the header of an uploaded file alone fills a chunk. */
function checkRecordFits(maxRecordBytes: number): void {
  if (maxRecordBytes > 0) return;
  throw new ConfigError(
    'CONFIG_CHUNK_TOO_SMALL',
    'chunks.maxBytes: the names in upload.columns take up the whole chunk and leave no room for a record',
    { hint: 'raise chunks.maxBytes, or send fewer columns or shorter names' },
  );
}

function hashOf(files: readonly SourceFile[], limit: number | undefined): string {
  const [only, ...others] = files;
  if (only !== undefined && others.length === 0 && limit === undefined) return only.sha256;
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file.sha256}\n`);
  if (limit !== undefined) hash.update(`the first ${limit} records\n`);
  return hash.digest('hex');
}

type Layout = Pick<InspectedFile, 'path' | 'columns' | 'dialect'>;

/**
 * Checks that two files can be one source: the same columns in the same order, and the same delimiter.
 * @throws SourceError `SOURCE_HEADERS_DIFFER` or `SOURCE_DELIMITERS_DIFFER`, naming both files and the first
 * difference.
 */
function checkSameColumns(first: Layout, other: Layout): void {
  const files = { file: first.path, otherFile: other.path };
  const [delimiter, otherDelimiter] = [first.dialect.delimiter, other.dialect.delimiter];
  const [one, two] = [JSON.stringify(delimiter), JSON.stringify(otherDelimiter)];
  const count = Math.max(first.columns.length, other.columns.length);
  for (let at = 0; at < count; at++) {
    if (first.columns[at] === other.columns[at]) continue;
    const [shownOne, shownTwo] = [first, other].map(({ columns: { [at]: column } }) =>
      column === undefined ? 'missing' : showText(column),
    );
    const what = `column ${at + 1} is ${shownOne} in ${first.path} and ${shownTwo} in ${other.path}`;
    if (delimiter === otherDelimiter) {
      throw new SourceError('SOURCE_HEADERS_DIFFER', what, {
        hint: 'the files of one source must have the same columns in the same order; narrow source.path',
        facts: { ...files, column: at + 1 },
      });
    }
    // Perhaps one of them was read with a wrong delimiter.
    throw new SourceError(
      'SOURCE_HEADERS_DIFFER',
      `${what}; the delimiter was detected as ${one} in ${first.path} and as ${two} in ${other.path}`,
      {
        hint: 'the files of one source must have the same delimiter and the same columns; set source.delimiter if it was detected wrongly, else narrow source.path',
        facts: { ...files, column: at + 1, delimiter, otherDelimiter },
      },
    );
  }
  if (delimiter !== otherDelimiter) {
    throw new SourceError(
      'SOURCE_DELIMITERS_DIFFER',
      `the delimiter is ${one} in ${first.path} and ${two} in ${other.path}`,
      {
        hint: 'the files of one source must have the same delimiter; set source.delimiter if it was detected wrongly',
        facts: files,
      },
    );
  }
}
