/** Checks an uploaded file before it is accepted: the header, the shape of every record, and the number of records. */

import { UTF8_BOM } from '../../csv/bytes.js';
import { readHeader } from '../../csv/read-header.js';
import { SourceError } from '../../errors.js';
import { readBeginning } from '../../streams/read-pieces.js';
import type { Bytes } from '../../types.js';
import { HttpRefusal } from '../http/http-refusal.js';
import { readUpload, uploadLayout } from './read-upload.js';

const MAX_HEADER_BYTES = 64 * 1024;

export interface InspectedUpload {
  /** The header record's bytes, without BOM and line end. */
  readonly header: Buffer;
  /** Offset of the first record. */
  readonly offset: Bytes;
  readonly records: number;
}

/** @throws HttpRefusal 400 with the reason when the file cannot be predicted. */
export async function inspectUpload(path: string): Promise<InspectedUpload> {
  const beginning = await readBeginning(path, MAX_HEADER_BYTES);
  const bom = beginning.subarray(0, UTF8_BOM.length).equals(UTF8_BOM) ? UTF8_BOM.length : 0;
  const { columns, bytes } = parseHeader(beginning.subarray(bom));
  const { fields, name } = uploadLayout(columns);
  if (name < 0) throw new HttpRefusal(400, 'the file has no column called name');
  const offset = bom + bytes;
  const records = await countRecords(path, offset, fields);
  if (records === 0) throw new HttpRefusal(400, 'the file has a header but no records');
  return { header: withoutLineEnds(beginning.subarray(bom, offset)), offset, records };
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

async function countRecords(path: string, offset: Bytes, fields: number): Promise<number> {
  let records = 0;
  for await (const batch of readUpload(path, { fields, offset, record: 1 })) records += batch.count;
  return records;
}

/** Removes the line end, and empty lines before the header. */
function withoutLineEnds(header: Buffer): Buffer {
  return Buffer.from(header.toString('latin1').replace(/^[\r\n]+|[\r\n]+$/g, ''), 'latin1');
}
