/** A part with records missing, doubled, strange or shuffled, with wrong keys, and with other columns; it is read whole. */
import { ByteWriter } from '../../csv/byte-writer.js';
import { readHeader } from '../../csv/read-header.js';
import { scanBuffer } from '../../csv/scan-records.js';
import { writeValue } from '../../csv/write-field.js';
import { rollDice } from './decide-faults.js';
import type { Fault } from './fault.js';

type RecordFaults = NonNullable<Fault['records']>;
type ColumnFaults = NonNullable<Fault['columns']>;
type Seed = readonly (string | number)[];

/** @param seed with the same seed the same records are chosen. */
export function changePart(content: Iterable<Uint8Array>, fault: Fault, seed: Seed): Iterable<Uint8Array> {
  const { records, keys, columns } = fault;
  if (records === undefined && keys === undefined && columns === undefined) return content;
  return changed(content, (part) =>
    changeColumns(changeKeys(changeRecords(part, records ?? {}, seed), keys), columns ?? {}),
  );
}

function* changed(content: Iterable<Uint8Array>, change: (part: RawPart) => RawPart): Generator<Uint8Array> {
  yield writeRawPart(change(readRawPart(Buffer.concat([...content]))));
}

export function changeRecords(part: RawPart, faults: RecordFaults, seed: Seed): RawPart {
  const order = part.records.map((_, index) => index);
  const chosen = byDice(order, [...seed, 'chosen']);
  const missing = new Set(chosen.slice(0, faults.missing ?? 0));
  const doubled = new Set(chosen.slice(missing.size, missing.size + (faults.doubled ?? 0)));
  const records = part.records.flatMap((record, index) => {
    if (missing.has(index)) return [];
    return doubled.has(index) ? [record, record] : [record];
  });
  for (let number = 1; number <= (faults.strange ?? 0); number++) records.push(strange(part, number));
  return { ...part, records: faults.shuffled ? byDice(records, [...seed, 'shuffled']) : records };
}

/** A record that was never sent: other in every field, whichever the client goes by. */
function strange({ columns, records }: RawPart, number: number): RawRecord {
  return columns.map((_, field) => {
    const like = Buffer.from(records[0]?.[field] ?? []).toString('latin1');
    return rawField(/^\d+$/.test(like) ? String(999_999_999 - number) : `strange ${number}`);
  });
}

/**
 * Other first fields, by which the records are known: each record has that of the next one, or the records are sorted
 * by their other fields and get them in the old order.
 */
export function changeKeys(part: RawPart, how: Fault['keys']): RawPart {
  if (how === undefined) return part;
  const { records } = part;
  if (how === 'shifted') {
    const keyAfter = (at: number) => records[(at + 1) % records.length]![0]!;
    return { ...part, records: records.map((record, at) => [keyAfter(at), ...record.slice(1)]) };
  }
  const sorted = records
    .map((record) => record.slice(1))
    .sort((a, b) => Buffer.compare(textOf(a), textOf(b)));
  return { ...part, records: sorted.map((rest, at) => [records[at]![0]!, ...rest]) };
}

function textOf(record: RawRecord): Buffer {
  return Buffer.concat(record.flatMap((field) => [field, Buffer.from([0])]));
}

/** Renamed, then dropped by the new name, then added to; what the part does not have is passed over. */
export function changeColumns(part: RawPart, { rename, add, drop }: ColumnFaults): RawPart {
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

function byDice<Item>(items: readonly Item[], seed: Seed): Item[] {
  return items
    .map((item, index) => ({ item, rolled: rollDice(...seed, index) }))
    .sort((one, other) => one.rolled - other.rolled)
    .map(({ item }) => item);
}

/** A part taken apart into raw fields, quotes included, so that what is not changed stays byte for byte. */
export type RawField = Uint8Array;
type RawRecord = readonly RawField[];

interface RawPart {
  readonly columns: readonly string[];
  readonly records: readonly RawRecord[];
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

function writeRawPart({ columns, records }: RawPart): Uint8Array {
  const out = new ByteWriter(64 * 1024);
  writeLine(out, columns.map(rawField));
  for (const record of records) writeLine(out, record);
  return out.view();
}

/** A value as a raw field, quoted where needed. */
function rawField(value: string): RawField {
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
