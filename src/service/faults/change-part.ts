/** Applies faults to a part's records, keys and columns. Reads the whole part; unchanged fields keep their bytes. */
import { ByteWriter } from '../../csv/byte-writer.js';
import { COMMA, LF } from '../../csv/bytes.js';
import { readHeader } from '../../csv/read-header.js';
import { scanBuffer } from '../../csv/scan-records.js';
import { fieldEnd, fieldStart } from '../../csv/table.js';
import { writeValue } from '../../csv/write-field.js';
import type { Fault } from './fault.js';
import { seededRandom } from './seeded-random.js';

type RecordFaults = NonNullable<Fault['records']>;
type KeyFault = NonNullable<Fault['keys']>;
type ColumnFaults = NonNullable<Fault['columns']>;
type Seed = readonly (string | number)[];

/** A part as raw fields, quotes included. */
interface RawPart {
  readonly columns: readonly string[];
  readonly records: readonly RawRecord[];
}

type RawRecord = readonly RawField[];
type RawField = Uint8Array;

/** @param seed the same seed always chooses the same records. */
export function changePart(content: Iterable<Uint8Array>, fault: Fault, seed: Seed): Iterable<Uint8Array> {
  const { records, keys, columns } = fault;
  if (records === undefined && keys === undefined && columns === undefined) return content;
  return changed(content, (part) => {
    const withRecords = records === undefined ? part : changeRecords(part, records, seed);
    const withKeys = keys === undefined ? withRecords : changeKeys(withRecords, keys);
    return columns === undefined ? withKeys : changeColumns(withKeys, columns);
  });
}

function* changed(content: Iterable<Uint8Array>, change: (part: RawPart) => RawPart): Generator<Uint8Array> {
  yield writeRawPart(change(readRawPart(Buffer.concat([...content]))));
}

function changeRecords(part: RawPart, faults: RecordFaults, seed: Seed): RawPart {
  const indexes = part.records.map((_, index) => index);
  const chosen = shuffle(indexes, [...seed, 'chosen']);
  const missing = new Set(chosen.slice(0, faults.missing ?? 0));
  const doubled = new Set(chosen.slice(missing.size, missing.size + (faults.doubled ?? 0)));
  const records = part.records.flatMap((record, index) => {
    if (missing.has(index)) return [];
    return doubled.has(index) ? [record, record] : [record];
  });
  for (let number = 1; number <= (faults.strange ?? 0); number++) records.push(strangeRecord(part, number));
  return { ...part, records: faults.shuffled ? shuffle(records, [...seed, 'shuffled']) : records };
}

/** A record that was never sent. It differs in every field, so that no way of joining can match it. */
function strangeRecord({ columns, records }: RawPart, number: number): RawRecord {
  return columns.map((_, field) => {
    const sample = Buffer.from(records[0]?.[field] ?? []).toString('latin1');
    return rawField(/^\d+$/.test(sample) ? String(999_999_999 - number) : `strange ${number}`);
  });
}

function shuffle<Item>(items: readonly Item[], seed: Seed): Item[] {
  return items
    .map((item, index) => ({ item, order: seededRandom(...seed, index) }))
    .sort((one, other) => one.order - other.order)
    .map(({ item }) => item);
}

/**
 * Changes the first field of each record, its key. `shifted`: each record gets the key of the next one.
 * `renumbered`: the records are sorted by their other fields and get the keys in the old order.
 */
function changeKeys(part: RawPart, fault: KeyFault): RawPart {
  const { records } = part;
  if (fault === 'shifted') {
    const keyAfter = (index: number) => records[(index + 1) % records.length]![0]!;
    return { ...part, records: records.map((record, index) => [keyAfter(index), ...record.slice(1)]) };
  }
  const sorted = records
    .map((record) => record.slice(1))
    .sort((one, other) => Buffer.compare(sortKey(one), sortKey(other)));
  return { ...part, records: sorted.map((rest, index) => [records[index]![0]!, ...rest]) };
}

function sortKey(record: RawRecord): Buffer {
  return Buffer.concat(record.flatMap((field) => [field, Buffer.from([0])]));
}

/** Renames columns, drops columns by their new names, then adds columns. Ignores columns that the part does not have. */
function changeColumns(part: RawPart, { rename, add, drop }: ColumnFaults): RawPart {
  const renamed = part.columns.map((name) => (rename && Object.hasOwn(rename, name) ? rename[name]! : name));
  const kept = [...renamed.keys()].filter((index) => !drop?.includes(renamed[index]!));
  const added = add ?? [];
  return {
    columns: [...kept.map((index) => renamed[index]!), ...added],
    records: part.records.map((record) => [
      ...kept.map((index) => record[index]!),
      ...added.map(() => rawField('added')),
    ]),
  };
}

/** @param bytes a part as the service writes it. */
function readRawPart(bytes: Buffer): RawPart {
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
      throw new Error(`record ${record} of a part that the service wrote is malformed: ${message}`);
    },
  });
  for (const batch of batches) {
    for (let record = 0; record < batch.count; record++) {
      const rawFields = Array.from({ length: batch.fields }, (_, field) =>
        batch.bytes.subarray(fieldStart(batch, record, field), fieldEnd(batch, record, field)),
      );
      records.push(rawFields.map((raw) => Buffer.from(raw)));
    }
  }
  return { columns: header.columns, records };
}

function writeRawPart({ columns, records }: RawPart): Uint8Array {
  const out = new ByteWriter(64 * 1024);
  writeRecord(out, columns.map(rawField));
  for (const record of records) writeRecord(out, record);
  return out.view();
}

/** A value as a raw field, with quotes if it needs them. */
function rawField(value: string): RawField {
  const out = new ByteWriter(value.length + 2);
  writeValue(out, value);
  return out.view();
}

function writeRecord(out: ByteWriter, fields: RawRecord): void {
  for (const [index, field] of fields.entries()) {
    if (index > 0) out.byte(COMMA);
    out.copy(field, 0, field.length);
  }
  // A single empty field is quoted, because an empty line is not a record.
  if (fields.length === 1 && fields[0]!.length === 0) out.ascii('""');
  out.byte(LF);
}
