/**
 * Reads the whole source once and checks the shape of every record, before anything is paid. Rule "Check before paying":
 * docs/architecture.md#check-before-paying.
 */
import { createHash } from 'node:crypto';
import { type BadRecord, badRecordError } from '../csv/bad-record.js';
import { scanRecords } from '../csv/scan-records.js';
import type { Batch } from '../csv/table.js';
import { ConfigError, SourceError } from '../errors.js';
import { showText } from '../text.js';
import type { Bytes, RejectLimit, Source, SourceFile } from '../types.js';
import { type KeyCheck, type KeyOptions, openKeyCheck } from './check-keys.js';
import { checkSameColumns } from './check-same-columns.js';
import { type ColumnBytes, createColumnBytes } from './column-bytes.js';
import { type InspectedFile, inspectFile } from './inspect-file.js';
import { isTranscoded, readDecoded } from './read-decoded.js';
import {
  type BlankRecord,
  type Excess,
  excessError,
  isStrict,
  isWithinLimit,
  SHOWN_BLANKS,
} from './reject-limit.js';
import { fileStamp } from './source-files.js';

/** Sees the records of a source while they are checked. */
export interface RecordWatch {
  /** Called once, before the first batch. @param delimiter one character. */
  begin(columns: readonly string[], delimiter: string): Promise<void>;
  /** Called for each batch, in the order of the source. The batch is valid until the promise resolves. */
  add(batch: Batch): Promise<void>;
}

export interface ScanSourceOptions {
  /** The source's files, in order. */
  readonly paths: readonly string[];
  /** `auto`, or a name that iconv-lite knows. */
  readonly encoding: string;
  /** `auto`, or one ASCII character. */
  readonly delimiter: string;
  /** How many records may be bad, or blank in all of `sentColumns`. If none may, the scan stops at the first bad one. */
  readonly maxRejected: RejectLimit;
  /** Source columns; records that are blank in all of them count as `blank`. Left out: none do. */
  readonly sentColumns?: readonly string[];
  /** Most bytes of a record without its line end; a larger record is bad. */
  readonly maxRecordBytes: number;
  /** Most records that the source may have, including rejected ones; default: the largest record number. */
  readonly maxRecords?: number;
  /** The columns that name a record; left out if none do. The source must have them. */
  readonly keyCheck?: KeyOptions;
  readonly signal: AbortSignal;
  /** Gets every good record, so that the source need not be read again. */
  readonly watch?: RecordWatch;
  /** Gets the error of a source with too many of them, found at its end. Left out: it is thrown. */
  readonly onExcess?: (error: SourceError) => void;
  /** Gets every rejected record, in order. */
  readonly onReject?: (bad: BadRecord) => void;
  /** Called after each batch and at the end of each file, with the bytes on disk and the records read so far. */
  readonly onProgress?: (progress: { readonly bytes: number; readonly records: number }) => void;
}

/**
 * Reads all files to their end and returns their dialects, columns, counts and hashes.
 *
 * The `sha256` of a source with one file is the hash of the file. For several files it is the hash of their hex hashes
 * in order, each followed by LF.
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
  if (!isWithinLimit(totals, options.maxRejected)) {
    const sent = { columns: options.sentColumns ?? [], sourceColumns: first.columns };
    const error = await excessError({ ...totals, ...sent }, options.maxRejected);
    if (options.onExcess === undefined) throw error;
    options.onExcess(error);
  }
  if (records === rejected) {
    const found = records === 0 ? 'a header and no record' : `no good record among ${records}`;
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
  return { files, ...columns, records, rejected, ...skipped, sha256: hashOf(files) };
}

/** A column that the source lacks is a mistake in the config, which is reported where all of its columns are checked. */
function hasColumns({ columns }: InspectedFile, key: KeyOptions | undefined): key is KeyOptions {
  return key?.columns.every((column) => columns.includes(column)) ?? false;
}

/** Indexes of the columns; none if the source lacks one of them, which is reported in the same place. */
function fieldsOf({ columns }: InspectedFile, sent: readonly string[]): readonly number[] {
  const fields = sent.map((column) => columns.indexOf(column));
  return fields.includes(-1) ? [] : fields;
}

/** Record numbers are signed 32-bit numbers. */
const MAX_RECORDS = 2 ** 31 - 1;

/** Totals of all files so far. */
interface Totals {
  bytes: number;
  records: number;
  rejected: number;
  blank: number;
  firstBad: Excess['firstBad'];
  readonly firstBlanks: BlankRecord[];
  readonly columnBytes: ColumnBytes;
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

async function scanFile(
  file: InspectedFile,
  index: number,
  totals: Totals,
  options: ScanSourceOptions & { readonly sentFields: readonly number[] },
  keys: KeyCheck | undefined,
): Promise<SourceFile> {
  const { path, dialect, columns, dataStart, firstLine } = file;
  const { signal, maxRecordBytes, onProgress, sentFields, maxRejected } = options;
  const before = { ...totals };
  const hash = createHash('sha256');
  const onRaw = (bytes: Uint8Array) => {
    hash.update(bytes);
    totals.bytes += bytes.length;
  };

  let decodedBytes = 0;
  const onDecoded = (bytes: number) => {
    decodedBytes += bytes;
  };
  const decoded = readDecoded(file, 0, { signal, onRaw });
  const batches = scanRecords(afterHeader(decoded, dataStart, onDecoded), {
    delimiter: dialect.delimiter,
    fields: columns.length,
    maxRecordBytes,
    file: index,
    base: dataStart,
    firstRecord: before.records + 1,
    firstLine,
    transcoded: isTranscoded(dialect),
    ...(sentFields.length > 0 && { sentFields }),
    onBadRecord: (bad) => {
      if (isStrict(maxRejected)) throw badRecordError(bad, path);
      totals.firstBad ??= { bad, path };
      totals.records = bad.record;
      totals.rejected++;
      checkCount(totals, path, options);
      options.onReject?.(bad);
    },
  });
  for await (const batch of batches) {
    totals.records = batch.firstRecord + batch.count - 1;
    checkCount(totals, path, options);
    countBlank(totals, file, batch);
    totals.columnBytes.add(batch);
    if (keys !== undefined) await keys.add(batch, file);
    if (options.watch !== undefined) await options.watch.add(batch);
    onProgress?.({ bytes: totals.bytes, records: totals.records });
  }
  onProgress?.({ bytes: totals.bytes, records: totals.records });

  await checkUnchanged(file, totals.bytes - before.bytes);
  return {
    path,
    bytes: file.bytes,
    ...(dialect.gzip && { unzippedBytes: decodedBytes }),
    stamp: file.stamp,
    sha256: hash.digest('hex'),
    records: totals.records - before.records,
    dialect,
    dataStart,
  };
}

function countBlank(totals: Totals, file: InspectedFile, batch: Batch): void {
  const { blank, base, firstRecord, starts } = batch;
  if (blank === undefined || blank.length === 0) return;
  totals.blank += blank.length;
  for (const row of blank.subarray(0, SHOWN_BLANKS - totals.firstBlanks.length)) {
    totals.firstBlanks.push({ file, record: firstRecord + row, offset: base + starts[row]! });
  }
}

/** @throws SourceError when the source has too many records. */
function checkCount(
  { records }: Totals,
  path: string,
  { maxRecords = MAX_RECORDS }: Pick<ScanSourceOptions, 'maxRecords'>,
): void {
  if (records <= maxRecords) return;
  throw new SourceError(
    'SOURCE_TOO_MANY_RECORDS',
    `${path}: with record ${maxRecords + 1} the source has more than ${maxRecords} records`,
    {
      hint: 'cut the source into several files and run each of them; narrow source.path if it matches too many files',
      facts: { file: path, record: maxRecords + 1 },
    },
  );
}

/**
 * Drops the header. The file is still read from its beginning, so that the hash covers all of it.
 * @param onDecoded gets the length of each piece, header included.
 */
async function* afterHeader(
  decoded: AsyncIterable<Buffer>,
  dataStart: number,
  onDecoded: (bytes: Bytes) => void,
): AsyncGenerator<Buffer, void, undefined> {
  let drop = dataStart;
  for await (const piece of decoded) {
    onDecoded(piece.length);
    const dropped = Math.min(drop, piece.length);
    drop -= dropped;
    yield piece.subarray(dropped);
  }
}

/** @throws SourceError when the file changed since the scan began, or was not read to its end. */
async function checkUnchanged(file: InspectedFile, bytesRead: number): Promise<void> {
  const { stamp } = await fileStamp(file.path);
  if (stamp !== file.stamp) {
    throw new SourceError('SOURCE_CHANGED', `${file.path}: the file was changed while it was read`, {
      hint: 'wait until it is written completely, then run the same command again',
      facts: { file: file.path },
    });
  }
  if (bytesRead !== file.bytes) {
    throw new SourceError('SOURCE_UNREADABLE', `${file.path}: bytes that are not gzip follow the gzip data`, {
      hint: 'copy the file again, or compress it again',
      facts: { file: file.path, byte: bytesRead },
    });
  }
}

function hashOf(files: readonly SourceFile[]): string {
  const [only, ...others] = files;
  if (only !== undefined && others.length === 0) return only.sha256;
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file.sha256}\n`);
  return hash.digest('hex');
}
