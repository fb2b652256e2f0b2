/**
 * Joins results to records by the tuple of the echoed columns: byte by byte, or in folded columns without case and
 * blanks. Records with equal tuples get their results in order. They count as indistinct if their results differ.
 */
import { ByteWriter } from '../csv/byte-writer.js';
import { NUL } from '../csv/bytes.js';
import { fieldEnd, fieldStart, fieldValue, type Table } from '../csv/table.js';
import { writeRawValue } from '../csv/write-field.js';
import type { RecordBlock } from '../source/record-block.js';
import { foldText, type SentField } from './echo-kinds.js';
import { type Joined, type Matches, Mismatches } from './join-method.js';
import type { PartTable } from './part-table.js';

/** A sent column by which results are matched. */
export interface EchoedColumn extends SentField {
  /** Whether texts that differ only in case, blanks and Unicode form count as equal. */
  readonly isFolded: boolean;
}

/** @throws UntrustedError `RESULTS_DO_NOT_MATCH` naming missing, doubled and strange results. */
export function joinByEcho(
  parts: readonly PartTable[],
  echoed: readonly EchoedColumn[],
  records: RecordBlock,
): Joined {
  const part = new Int32Array(records.count).fill(-1);
  const result = new Int32Array(records.count);
  const mismatches = new Mismatches();
  const queues = queueByTuple(records, echoed);
  const tuple = new TupleReader();

  for (const [at, table] of parts.entries()) {
    const fields = echoed.map(({ column }) => table.columns.indexOf(column));
    for (let row = 0; row < table.count; row++) {
      for (const [k, field] of fields.entries()) tuple.add(table, row, field, echoed[k]!.isFolded);
      const key = tuple.take();
      const queue = queues.get(key);
      if (queue === undefined) {
        mismatches.add('strange', JSON.stringify(key.replaceAll('\0', ' | ').slice(0, 80)));
      } else if (queue.taken === queue.records.length) {
        mismatches.add('doubled', `record ${records.numbers[queue.records[0]!]}`);
      } else {
        const record = queue.records[queue.taken++]!;
        part[record] = at;
        result[record] = row;
      }
    }
  }
  for (const queue of queues.values()) {
    for (const record of queue.records.slice(queue.taken)) {
      mismatches.add('missing', `record ${records.numbers[record]}`);
    }
  }
  mismatches.check();
  const matches = { parts, part, result };
  return { ...matches, indistinct: findIndistinct(queues, matches, new Set(echoed.map((e) => e.column))) };
}

/** Records with equal tuples, in the source's order. */
interface Queue {
  /** Their indexes in the block. */
  readonly records: number[];
  /** How many of them have a result. */
  taken: number;
}

function queueByTuple(records: RecordBlock, echoed: readonly EchoedColumn[]): Map<string, Queue> {
  const queues = new Map<string, Queue>();
  const tuple = new TupleReader();
  for (let row = 0; row < records.count; row++) {
    for (const { sourceField, isFolded } of echoed) tuple.add(records, row, sourceField, isFolded);
    const key = tuple.take();
    const queue = queues.get(key);
    if (queue === undefined) queues.set(key, { records: [row], taken: 0 });
    else queue.records.push(row);
  }
  return queues;
}

/** Builds a map key from the values of fields. NUL ends each value, because no field may hold NUL. */
class TupleReader {
  readonly #writer = new ByteWriter(256);

  add(table: Table, row: number, field: number, isFolded: boolean): void {
    if (isFolded) this.#writer.utf8(foldText(fieldValue(table, row, field)));
    else {
      writeRawValue(this.#writer, table.bytes, fieldStart(table, row, field), fieldEnd(table, row, field));
    }
    this.#writer.byte(NUL);
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
  matches: Matches,
  echoed: ReadonlySet<string>,
): ReadonlySet<number> {
  const found = new Set<number>();
  for (const { records } of queues.values()) {
    if (records.length === 1) continue;
    const answers = new Set(records.map((record) => answerText(matches, record, echoed)));
    if (answers.size > 1) for (const record of records) found.add(record);
  }
  return found;
}

/**
 * The result of a record without the echoed columns, as one text to compare: values by column name.
 *
 * @param record its index in the block.
 */
export function answerText(matches: Matches, record: number, echoed: ReadonlySet<string>): string {
  const table = matches.parts[matches.part[record]!]!;
  const result = matches.result[record]!;
  const values = table.columns.map((column, field) =>
    echoed.has(column) ? '' : `${column}:${fieldValue(table, result, field)}`,
  );
  return `${table.reference.fileStatus}\0${values.sort().join('\0')}`;
}
