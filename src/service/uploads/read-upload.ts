/** Reads the records of an uploaded file (UTF-8, comma), from the first record or from a later one. */
import { createReadStream } from 'node:fs';
import type { BadRecord } from '../../csv/bad-record.js';
import { scanRecords } from '../../csv/scan-records.js';
import type { Batch } from '../../csv/table.js';
import type { Bytes } from '../../types.js';
import { HttpRefusal } from '../http/http-refusal.js';

const READ_BYTES = 256 * 1024;
const MAX_RECORD_BYTES = 16 * 1024 * 1024;

interface ReadFrom {
  readonly fields: number;
  /** Offset in the file of the first record to read. */
  readonly offset: Bytes;
  /** 1-based number of that record. */
  readonly record: number;
}

/** Yields batches with offsets in the file. @throws HttpRefusal 400 at the first malformed record. */
export function readUpload(path: string, from: ReadFrom): AsyncGenerator<Batch> {
  const input = createReadStream(path, { start: from.offset, highWaterMark: READ_BYTES });
  return scanRecords(input, {
    delimiter: ',',
    fields: from.fields,
    maxRecordBytes: MAX_RECORD_BYTES,
    file: 0,
    base: from.offset,
    firstRecord: from.record,
    onBadRecord: refuse,
  });
}

function refuse(bad: BadRecord): never {
  throw new HttpRefusal(400, `record ${bad.record} of the file is malformed: ${bad.message}`);
}

/** The columns that the predictor reads: 0-based field numbers, -1 for a column that the upload lacks. */
export interface UploadLayout {
  readonly fields: number;
  readonly name: number;
  readonly address: number;
  readonly state: number;
}

/** Finds the columns by name, ignoring case and outer spaces. A file without a name column cannot be predicted. */
export function uploadLayout(columns: readonly string[]): UploadLayout {
  const names = columns.map((column) => column.trim().toLowerCase());
  return {
    fields: columns.length,
    name: names.indexOf('name'),
    address: names.indexOf('address'),
    state: names.indexOf('state'),
  };
}
