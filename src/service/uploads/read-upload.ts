/** Reads an uploaded file once, before a folio is given for it: header, shape and count of the records. */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { BadRecord } from '../../csv/bad-record.js';
import type { Batch } from '../../csv/batch.js';
import { readHeader } from '../../csv/read-header.js';
import { scanRecords } from '../../csv/scan-records.js';
import { SourceError } from '../../errors.js';
import { HttpRefusal } from '../http/http-refusal.js';

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
const MAX_HEADER_BYTES = 64 * 1024;

export interface InspectedUpload {
  /** The header record as it came, without BOM and line end. */
  readonly header: Buffer;
  /** Where the first record begins. */
  readonly offset: number;
  readonly records: number;
}

/** @throws HttpRefusal 400 with the reason when the file cannot be predicted. */
export async function inspectUpload(path: string): Promise<InspectedUpload> {
  const beginning = await readBeginning(path);
  const bom = beginning.subarray(0, BOM.length).equals(BOM) ? BOM.length : 0;
  const { columns, bytes } = parseHeader(beginning.subarray(bom));
  const { fields, name } = uploadLayout(columns);
  if (name < 0) throw new HttpRefusal(400, 'the file has no column called name');
  const offset = bom + bytes;
  const records = await countRecords(path, offset, fields);
  if (records === 0) throw new HttpRefusal(400, 'the file has a header but no records');
  return { header: withoutLineEnds(beginning.subarray(bom, offset)), offset, records };
}

async function readBeginning(path: string): Promise<Buffer> {
  const handle = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_HEADER_BYTES), 0, MAX_HEADER_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

function parseHeader(beginning: Buffer): ReturnType<typeof readHeader> {
  if (beginning.length === 0) throw new HttpRefusal(400, 'the file is empty');
  try {
    return readHeader(beginning, ',');
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    throw new HttpRefusal(400, `the header is malformed: ${error.message}`, { cause: error });
  }
}

async function countRecords(path: string, offset: number, fields: number): Promise<number> {
  let records = 0;
  for await (const batch of readUpload(path, { fields, offset, record: 1 })) records += batch.count;
  return records;
}

/** Takes off the line end, and the empty lines that may stand before a header. */
function withoutLineEnds(header: Buffer): Buffer {
  return Buffer.from(header.toString('latin1').replace(/^[\r\n]+|[\r\n]+$/g, ''), 'latin1');
}

/** Reads the records of an uploaded file (UTF-8, comma) from an offset on; offsets are those of the file. */
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

// Where an upload keeps what the prediction needs.

/** Field numbers from 0; -1 where the upload has no such column. */
export interface UploadLayout {
  readonly fields: number;
  readonly name: number;
  readonly address: number;
  readonly state: number;
}

/** The columns so named, in whatever case. `name` is -1 in a file that cannot be predicted. */
export function uploadLayout(columns: readonly string[]): UploadLayout {
  const names = columns.map((column) => column.trim().toLowerCase());
  return {
    fields: columns.length,
    name: names.indexOf('name'),
    address: names.indexOf('address'),
    state: names.indexOf('state'),
  };
}
