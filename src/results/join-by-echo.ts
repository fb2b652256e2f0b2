/**
 * Joins by the tuple of the sent columns that the service gave back, byte by byte or, in columns that come back a
 * little otherwise, without case and blanks. Equal tuples are matched in order: records in the source's, results in
 * the parts', and counted where their results differ.
 */
import { ByteWriter } from '../csv/byte-writer.js';
import { fieldText, writeRawValue } from '../csv/write-field.js';
import type { RecordBlock } from '../source/record-block.js';
import { foldText, type SentField } from './echo-kinds.js';
import { type Joined, Misfits } from './joined.js';
import { fieldStart, type PartTable } from './part-table.js';

/** A sent column by which results are matched. */
export interface EchoedColumn extends SentField {
  /** Whether texts that differ only in case, blanks and Unicode form are the same. */
  readonly isFolded: boolean;
}

/** @throws UntrustedError naming missing and strange results. */
export function joinByEcho(
  parts: readonly PartTable[],
  echoed: readonly EchoedColumn[],
  records: RecordBlock,
): Joined {
  const part = new Int32Array(records.count).fill(-1);
  const result = new Int32Array(records.count);
  const misfits = new Misfits();
  const waiting = queueByTuple(records, echoed);
  const tuple = new TupleReader();

  for (const [at, table] of parts.entries()) {
    const fields = echoed.map(({ column }) => table.columns.indexOf(column));
    for (let r = 0; r < table.count; r++) {
      for (const [k, field] of fields.entries()) {
        const end = table.ends[r * table.columns.length + field]!;
        tuple.add(table.bytes, fieldStart(table, r, field), end, echoed[k]!.isFolded);
      }
      const key = tuple.take();
      const queue = waiting.get(key);
      if (queue === undefined) {
        misfits.add('strange', JSON.stringify(key.replaceAll('\0', ' | ').slice(0, 80)));
      } else if (queue.taken === queue.records.length) {
        misfits.add('doubled', `record ${records.numbers[queue.records[0]!]}`);
      } else {
        const record = queue.records[queue.taken++]!;
        part[record] = at;
        result[record] = r;
      }
    }
  }
  for (const queue of waiting.values()) {
    for (const record of queue.records.slice(queue.taken)) {
      misfits.add('missing', `record ${records.numbers[record]}`);
    }
  }
  misfits.check();
  const joined = { parts, part, result };
  return { ...joined, indistinct: findIndistinct(waiting, joined, new Set(echoed.map((e) => e.column))) };
}

interface Queue {
  readonly records: number[];
  taken: number;
}

function queueByTuple(records: RecordBlock, echoed: readonly EchoedColumn[]): Map<string, Queue> {
  const queues = new Map<string, Queue>();
  const tuple = new TupleReader();
  for (let r = 0; r < records.count; r++) {
    for (const { sourceField, isFolded } of echoed) {
      const at = r * records.fields + sourceField;
      tuple.add(
        records.bytes,
        sourceField === 0 ? records.starts[r]! : records.ends[at - 1]! + 1,
        records.ends[at]!,
        isFolded,
      );
    }
    const key = tuple.take();
    const queue = queues.get(key);
    if (queue === undefined) queues.set(key, { records: [r], taken: 0 });
    else queue.records.push(r);
  }
  return queues;
}

/** Builds a map key of raw fields' values: NUL, which no field may hold, ends each of them. */
class TupleReader {
  readonly #writer = new ByteWriter(256);

  add(bytes: Uint8Array, start: number, end: number, isFolded: boolean): void {
    if (isFolded) this.#writer.utf8(foldText(fieldText(bytes, start, end)));
    else writeRawValue(this.#writer, bytes, start, end);
    this.#writer.byte(0);
  }

  take(): string {
    const view = this.#writer.view();
    const key = Buffer.from(view.buffer, view.byteOffset, view.length).toString('utf8');
    this.#writer.clear();
    return key;
  }
}

function findIndistinct(
  queues: ReadonlyMap<string, Queue>,
  joined: Pick<Joined, 'parts' | 'part' | 'result'>,
  echoed: ReadonlySet<string>,
): ReadonlySet<number> {
  const found = new Set<number>();
  for (const { records } of queues.values()) {
    if (records.length === 1) continue;
    const answers = new Set(records.map((record) => answerOf(joined, record, echoed)));
    if (answers.size > 1) for (const record of records) found.add(record);
  }
  return found;
}

/** Everything that a result says beyond the echoed columns, as one text to compare by: values by column name. */
export function answerOf(
  joined: Pick<Joined, 'parts' | 'part' | 'result'>,
  record: number,
  echoed: ReadonlySet<string>,
): string {
  const table = joined.parts[joined.part[record]!]!;
  const result = joined.result[record]!;
  const values = table.columns.map((column, field) => {
    if (echoed.has(column)) return '';
    const start = fieldStart(table, result, field);
    const end = table.ends[result * table.columns.length + field]!;
    return `${column}:${fieldText(table.bytes, start, end)}`;
  });
  return `${table.reference.fileStatus}\0${values.sort().join('\0')}`;
}
