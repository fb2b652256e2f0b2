/** Reads the records of an uploaded file (UTF-8, comma) from an offset on; offsets are those of the file. */
import { createReadStream } from 'node:fs';
import type { BadRecord } from '../../csv/bad-record.js';
import type { Batch } from '../../csv/batch.js';
import { scanRecords } from '../../csv/scan-records.js';
import { HttpRefusal } from '../http/http-refusal.js';

const READ_BYTES = 256 * 1024;
const MAX_RECORD_BYTES = 16 * 1024 * 1024;

export interface ReadFrom {
  readonly fields: number;
  readonly offset: number;
  /** 1-based number of the first record at the offset. */
  readonly record: number;
}

/** @throws HttpRefusal 400 at the first malformed record. */
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
