/** Reads one file of a source to its end: checks every record, hashes the file, and adds to the totals of the source. */
import { createHash } from 'node:crypto';
import type { BadRecord } from '../csv/bad-record.js';
import { scanRecords } from '../csv/scan-records.js';
import type { Batch } from '../csv/table.js';
import { SourceError } from '../errors.js';
import type { Bytes, RejectLimit, SourceFile } from '../types.js';
import type { KeyCheck } from './check-keys.js';
import type { ColumnBytes } from './column-bytes.js';
import type { InspectedFile } from './inspect-file.js';
import { isTranscoded, readDecoded } from './read-decoded.js';
import { asInFile, firstRecords } from './read-records.js';
import { type BlankRecord, type PlacedBad, SHOWN_BAD, SHOWN_BLANKS } from './reject-limit.js';
import { hashSourceFile, refuseRestamped } from './source-files.js';

/** Gets the records of a source while they are checked. */
export interface RecordWatch {
  /** Called once, before the first batch. @param delimiter one character. */
  begin(columns: readonly string[], delimiter: string): Promise<void>;
  /** Called for each batch, in the order of the source. The batch is valid until the promise resolves. */
  add(batch: Batch): Promise<void>;
}

export interface ScanFileOptions {
  /** How many records may be bad, or blank in all sent columns. */
  readonly maxRejected: RejectLimit;
  /** Indexes of the columns that are sent: counts the records that are blank in all of them. Empty: counts none. */
  readonly sentFields: readonly number[];
  /** The most bytes of a record without its line end; a larger record is bad. */
  readonly maxRecordBytes: number;
  /**
   * Checks only this many first records of the source. The hash is still that of the whole file. Default: all.
   */
  readonly limit?: number | undefined;
  /** The most records that the source may have, including rejected ones; default: the largest record number. */
  readonly maxRecords?: number;
  readonly signal: AbortSignal;
  /** Gets every good record, so that the source need not be read again. */
  readonly watch?: RecordWatch | undefined;
  /** Gets every rejected record, in order. */
  readonly onReject?: (bad: BadRecord) => void;
  /** Called when so many first records are all bad that the file must have been read in the wrong way. */
  readonly onHopeless?: (totals: Totals) => void;
  /** Called after each batch and at the end of each file, with the bytes on disk and the records read so far. */
  readonly onProgress?:
    | ((progress: { readonly bytes: number; readonly records: number }) => void)
    | undefined;
}

/** See `onHopeless`. */
const HOPELESS = 1_000;

/** Record numbers are signed 32-bit numbers. */
const MAX_RECORDS = 2 ** 31 - 1;

/** Totals of all files so far. */
export interface Totals {
  bytes: number;
  records: number;
  rejected: number;
  blank: number;
  readonly firstBad: PlacedBad[];
  readonly firstBlanks: BlankRecord[];
  readonly columnBytes: ColumnBytes;
}

/**
 * @param index of the file in the source.
 * @param totals of the files before; those of this file are added.
 * @throws SourceError naming file, record, line and byte of the problem; the signal's reason.
 */
export async function scanFile(
  file: InspectedFile,
  index: number,
  totals: Totals,
  options: ScanFileOptions,
  keys: KeyCheck | undefined,
): Promise<SourceFile> {
  const { path, dialect, columns, dataStart, firstLine } = file;
  const { signal, maxRecordBytes, onProgress, sentFields, limit } = options;
  const before = { ...totals };
  const isOver = (record: number) => limit !== undefined && record > limit;
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
  const all = scanRecords(afterHeader(decoded, dataStart, onDecoded), {
    delimiter: dialect.delimiter,
    fields: columns.length,
    maxRecordBytes,
    file: index,
    base: dataStart,
    firstRecord: before.records + 1,
    firstLine,
    transcoded: isTranscoded(dialect),
    ...(sentFields.length > 0 && { sentFields }),
    onBadRecord: (found) => {
      if (isOver(found.record)) return;
      const bad = asInFile(found, dialect);
      if (totals.firstBad.length < SHOWN_BAD) totals.firstBad.push({ bad: beginningOf(bad), path });
      totals.records = bad.record;
      totals.rejected++;
      checkCount(totals, path, options);
      options.onReject?.(bad);
      if (totals.rejected === HOPELESS && totals.records === HOPELESS) options.onHopeless?.(totals);
    },
  });
  for await (const batch of limit === undefined ? all : firstRecords(all, limit)) {
    // A rejected record after the batch may have been counted already.
    totals.records = Math.max(totals.records, batch.numbers[batch.count - 1]!);
    checkCount(totals, path, options);
    countBlank(totals, file, batch);
    totals.columnBytes.add(batch);
    if (keys !== undefined) await keys.add(batch, file);
    if (options.watch !== undefined) await options.watch.add(batch);
    onProgress?.({ bytes: totals.bytes, records: totals.records });
  }
  // If the file is gone now, `checkUnchanged` reports that.
  const whole = limit === undefined ? undefined : ((await hashSourceFile(path, signal))?.sha256 ?? '');
  if (whole !== undefined) totals.bytes = before.bytes + file.bytes;
  onProgress?.({ bytes: totals.bytes, records: totals.records });

  await checkUnchanged(file, totals.bytes - before.bytes);
  return {
    path,
    bytes: file.bytes,
    ...(dialect.gzip && whole === undefined && { unzippedBytes: decodedBytes }),
    stamp: file.stamp,
    sha256: whole ?? hash.digest('hex'),
    records: totals.records - before.records,
    dialect,
    dataStart,
  };
}

/** Most bytes of a bad record that its message may need. */
const KEPT_BYTES = 4_096;

function beginningOf(bad: BadRecord): BadRecord {
  return bad.raw.length <= KEPT_BYTES ? bad : { ...bad, raw: bad.raw.slice(0, KEPT_BYTES) };
}

function countBlank(totals: Totals, file: InspectedFile, batch: Batch): void {
  const { blank, base, numbers, starts } = batch;
  if (blank === undefined || blank.length === 0) return;
  totals.blank += blank.length;
  for (const row of blank.subarray(0, SHOWN_BLANKS - totals.firstBlanks.length)) {
    totals.firstBlanks.push({ file, record: numbers[row]!, offset: base + starts[row]! });
  }
}

/** @throws SourceError when the source has too many records. */
function checkCount(
  { records }: Totals,
  path: string,
  { maxRecords = MAX_RECORDS }: Pick<ScanFileOptions, 'maxRecords'>,
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
  const { path, bytes } = file;
  await refuseRestamped(path, file);
  if (bytesRead !== bytes) {
    throw new SourceError(
      'SOURCE_UNREADABLE',
      `${path}: the disk reports ${bytes} bytes for this file, but gave ${bytesRead}`,
      {
        hint: 'check the disk, or copy the file to another one and name the copy',
        facts: { file: path, byte: bytesRead },
      },
    );
  }
}
