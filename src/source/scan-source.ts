/**
 * Reads the whole source once and checks the shape of every record, before anything is paid. Rule "Check before paying":
 * docs/architecture.md#check-before-paying.
 */
import { createHash } from 'node:crypto';
import { ConfigError, SourceError } from '../errors.js';
import { showText } from '../text.js';
import type { Source, SourceFile } from '../types.js';
import { type KeyOptions, openKeyCheck } from './check-keys.js';
import { checkSameColumns } from './check-same-columns.js';
import { createColumnBytes } from './column-bytes.js';
import { type InspectedFile, inspectFile, type SourceFormat } from './inspect-file.js';
import { excessError, isWithinLimit } from './reject-limit.js';
import { type ScanFileOptions, scanFile, type Totals } from './scan-file.js';

export interface ScanSourceOptions extends SourceFormat, Omit<ScanFileOptions, 'sentFields'> {
  /** The source's files, in order. */
  readonly paths: readonly string[];
  /** Source columns; records that are blank in all of them count as `blank`. Left out: none do. */
  readonly sentColumns?: readonly string[];
  /** The columns that name a record; left out if none do. The source must have them. */
  readonly keyCheck?: KeyOptions;
  /** Gets the error of a source with too many of them, found at its end. Left out: it is thrown. */
  readonly onExcess?: (error: SourceError) => void;
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
  await options.watch?.begin(first.columns, first.dialect.delimiter);

  const sentFields = fieldsOf(first, options.sentColumns ?? []);
  const totals: Totals = {
    bytes: 0,
    records: 0,
    rejected: 0,
    blank: 0,
    firstBad: undefined,
    firstBlanks: [],
    columnBytes: createColumnBytes(first.columns.length),
  };
  const files: SourceFile[] = [];
  const keys = hasColumns(first, options.keyCheck)
    ? openKeyCheck(options.keyCheck, first.columns)
    : undefined;
  try {
    for (const [index, file] of inspected.entries()) {
      files.push(await scanFile(file, index, totals, { ...options, sentFields }, keys));
    }
    await keys?.end({ files, columns: first.columns }, options.maxRecordBytes);
  } finally {
    keys?.close();
  }

  const { records, rejected, blank } = totals;
  const { limit } = options;
  if (!isWithinLimit(totals, options.maxRejected)) {
    const sent = { columns: options.sentColumns ?? [], sourceColumns: first.columns };
    const error = await excessError({ ...totals, ...sent }, options.maxRejected);
    if (options.onExcess === undefined) throw error;
    options.onExcess(error);
  }
  if (records === rejected) {
    if (options.isOurs) throw noRows(options.paths, totals);
    const none = Array.isArray(options.header) ? 'no record' : 'a header and no record';
    const found = records === 0 ? none : `no good record among ${records}`;
    const { encoding, delimiter } = first.dialect;
    const how = `read as ${encoding} with the delimiter ${showText(delimiter)}`;
    throw new SourceError('SOURCE_NO_RECORDS', `${options.paths.join(', ')}: ${found} (${how})`, {
      hint:
        records === 0
          ? 'check the program that writes the file; if it has records, check source.encoding and source.delimiter'
          : 'check source.delimiter and source.encoding',
      facts: { file: first.path, records, rejected },
    });
  }
  const skipped = blank > 0 && { blank };
  const columns = { columns: first.columns, columnBytes: totals.columnBytes.average() };
  const of = { files, ...columns, records, rejected, ...skipped };
  return limit === undefined
    ? { ...of, sha256: hashOf(files) }
    : { ...of, limit, sha256: hashOf(files, limit) };
}

/** The error for a query, or Parquet files, without a good row: foliopipe has written the text itself. */
function noRows(paths: readonly string[], { records, rejected }: Totals): SourceError {
  const found = records === 0 ? 'columns and no row' : `no good row among ${records}`;
  return new SourceError('SOURCE_NO_RECORDS', `${paths.join(', ')}: ${found}`, {
    hint:
      records === 0
        ? 'look why there is none: check source.query.sql, or the program that writes the Parquet file'
        : 'set source.maxRejected: 0 to see what is wrong with the first one',
    facts: { file: paths[0]!, records, rejected },
  });
}

/**
 * A column that the source lacks, or has twice, is a mistake in the config or the header, which is reported where all
 * columns of the config are checked.
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

function hashOf(files: readonly SourceFile[], limit?: number): string {
  const [only, ...others] = files;
  if (only !== undefined && others.length === 0 && limit === undefined) return only.sha256;
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file.sha256}\n`);
  if (limit !== undefined) hash.update(`the first ${limit} records\n`);
  return hash.digest('hex');
}
