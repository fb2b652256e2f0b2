/** A part taken apart into raw fields, quotes included, so that what is not changed stays byte for byte. */
import { ByteWriter } from '../../csv/byte-writer.js';
import { readHeader } from '../../csv/read-header.js';
import { scanBuffer } from '../../csv/scan-records.js';
import { writeValue } from '../../csv/write-field.js';

export type RawField = Uint8Array;
export type RawRecord = readonly RawField[];

export interface RawPart {
  readonly columns: readonly string[];
  readonly records: readonly RawRecord[];
}

/** @param bytes a part as the service writes it. */
export function readRawPart(bytes: Buffer): RawPart {
  const header = readHeader(bytes, ',', 'the part');
  const records: RawRecord[] = [];
  const batches = scanBuffer(bytes.subarray(header.bytes), {
    delimiter: ',',
    fields: header.columns.length,
    maxRecordBytes: bytes.length,
    file: 0,
    base: 0,
    firstRecord: 1,
    onBadRecord: ({ record, message }) => {
      throw new Error(`record ${record} of a part that the service made is malformed: ${message}`);
    },
  });
  for (const { bytes: data, count, fields, starts, ends } of batches) {
    for (let record = 0; record < count; record++) {
      const fieldEnds = ends.subarray(record * fields, (record + 1) * fields);
      records.push(
        Array.from(fieldEnds, (end, field) =>
          Buffer.from(data.subarray(field === 0 ? starts[record]! : fieldEnds[field - 1]! + 1, end)),
        ),
      );
    }
  }
  return { columns: header.columns, records };
}

export function writeRawPart({ columns, records }: RawPart): Uint8Array {
  const out = new ByteWriter(64 * 1024);
  writeLine(out, columns.map(rawField));
  for (const record of records) writeLine(out, record);
  return out.view();
}

/** A value as a raw field, quoted where needed. */
export function rawField(value: string): RawField {
  const out = new ByteWriter(value.length + 2);
  writeValue(out, value);
  return out.view();
}

function writeLine(out: ByteWriter, fields: readonly RawField[]): void {
  for (const [index, field] of fields.entries()) {
    if (index > 0) out.ascii(',');
    out.copy(field, 0, field.length);
  }
  // A lone empty field would be an empty line, which is no record.
  if (fields.length === 1 && fields[0]!.length === 0) out.ascii('""');
  out.ascii('\n');
}
