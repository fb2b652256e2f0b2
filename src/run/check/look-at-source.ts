/** Looks at the beginning of a source that no config names yet: its dialect, columns and first records. */
import type { BadRecord } from '../../csv/bad-record.js';
import { fieldValue } from '../../csv/table.js';
import { type InspectedFile, inspectFile, type SourceFormat } from '../../source/inspect-file.js';
import { readRecords } from '../../source/read-records.js';
import { findFiles } from '../../source/source-files.js';
import { parquetColumns } from '../../spool/copy-parquet.js';
import type { Dialect } from '../../types.js';

/** What is found at the beginning of a source. */
export interface SourceLook {
  /** The files that the path names, in order; the first one is looked at. */
  readonly files: readonly string[];
  /** Size on disk of the first file. */
  readonly bytes: number;
  /** Null for Parquet. */
  readonly dialect: Dialect | null;
  readonly columns: readonly string[];
  /** The values of the first good records; none for Parquet. */
  readonly records: readonly (readonly string[])[];
  /** Whether a record before the last of them holds bytes that are not valid in the encoding. */
  readonly hasOtherEncoding: boolean;
}

/** How a source is looked at. */
export interface LookOptions extends Pick<SourceFormat, 'header' | 'skipLines'> {
  /** Default: `auto`. */
  readonly delimiter?: string | undefined;
  /** Default: `auto`. */
  readonly encoding?: string | undefined;
  /** How many records are read at most. */
  readonly records: number;
  /** The folder in which DuckDB puts what does not fit into its memory. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/** Longer records are left out. */
const MAX_RECORD_BYTES = 1024 * 1024;

/**
 * @param path as `source.path`: a file or a glob.
 * @throws SourceError when there is no such file, or its header cannot be read; ConfigError for a delimiter or an
 *   encoding that does not exist, and `DUCKDB_MISSING`.
 */
export async function lookAtSource(
  path: string,
  { delimiter = 'auto', encoding = 'auto', header, skipLines, records: most, folder, signal }: LookOptions,
): Promise<SourceLook> {
  const files = await findFiles(path);
  const [first] = files as [string];
  if (/\.parquet$/i.test(first)) {
    const columns = await parquetColumns(first, { folder, signal });
    return { files, bytes: 0, dialect: null, columns, records: [], hasOtherEncoding: false };
  }
  const inspected = await inspectFile(first, { delimiter, encoding, header, skipLines });
  const { bytes, dialect, columns } = inspected;
  return { files, bytes, dialect, columns, ...(await firstValues(inspected, most, signal)) };
}

/** A file whose first records are read. */
export type FirstFile = Omit<InspectedFile, 'firstLine'>;

/** Reads the values of the first good records of a file. @param most how many at most. */
export async function firstValues(
  file: FirstFile,
  most: number,
  signal: AbortSignal,
): Promise<Pick<SourceLook, 'records' | 'hasOtherEncoding'>> {
  let hasOtherEncoding = false;
  const records: string[][] = [];
  const onBadRecord = ({ code }: BadRecord) => {
    hasOtherEncoding ||= code === 'SOURCE_ENCODING';
  };
  for await (const batch of readFirst(file, most, onBadRecord, signal)) {
    for (let row = 0; row < batch.count; row++) {
      records.push(file.columns.map((_, field) => fieldValue(batch, row, field)));
    }
  }
  return { records, hasOtherEncoding };
}

/** Whether a file has a record, good or bad. */
export async function hasRecord(file: FirstFile, signal: AbortSignal): Promise<boolean> {
  let isBad = false;
  const onBadRecord = () => {
    isBad = true;
  };
  for await (const { count } of readFirst(file, 1, onBadRecord, signal)) if (count > 0 || isBad) return true;
  return isBad;
}

function readFirst(
  file: FirstFile,
  most: number,
  onBadRecord: (bad: BadRecord) => void,
  signal: AbortSignal,
) {
  const source = { files: [{ ...file, sha256: '', records: 0 }], columns: file.columns, limit: most };
  const from = { position: { file: 0, offset: file.dataStart }, record: 1 };
  return readRecords(source, from, { maxRecordBytes: MAX_RECORD_BYTES, onBadRecord, signal });
}
