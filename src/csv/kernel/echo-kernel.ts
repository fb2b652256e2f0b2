/** Compares echoed columns in WebAssembly: for each record, the sent values with the values of its result. */
import { bytesOf } from '../../kernel/kernel-memory.js';
import { fieldValue, type Table } from '../table.js';
import { type MatchOrder, neededResults, releaseNeeded, slicesOf, type TableMemory } from './table-memory.js';

/** What assembly/echo.ts exports. */
export interface EchoExports {
  readonly differingPair: WebAssembly.Global;
  findDiffering(...args: number[]): number;
}

/** Two fields that should hold the same value. */
export interface FieldPair {
  /** Index among the record's fields. */
  readonly sentField: number;
  /** Index among the result's fields. */
  readonly resultField: number;
  /** Whether upper and lower case letters of ASCII count as equal. */
  readonly isFolded: boolean;
}

/** Results, with the pairs of fields to compare. */
export interface EchoPart extends Table {
  readonly pairs: readonly FieldPair[];
}

/** Numbers of a part, and of a pair, as assembly/echo.ts reads them. */
const PART_INTS = 8;
const PAIR_INTS = 4;

export class EchoKernel {
  readonly #tables: TableMemory<EchoExports>;

  /** @param tables may be shared with another kernel that works on the same tables. */
  constructor(tables: TableMemory<EchoExports>) {
    this.#tables = tables;
  }

  /** Calls `onDiffering` for each pair of different values, with the index of the record and of the pair. */
  compare(
    records: Table,
    parts: readonly EchoPart[],
    order: MatchOrder,
    onDiffering: (record: number, pair: number) => void,
  ): void {
    if (parts.every(({ pairs }) => pairs.length === 0)) return;
    for (const { table, from } of slicesOf(records)) {
      const part = order.part.subarray(from, from + table.count);
      const result = order.result.subarray(from, from + table.count);
      const needed = neededResults(parts, { part, result }, table.count);
      const compare = this.#tables.canHold([...needed.parts, table]) ? this.#compareSlice : compareByField;
      const own = { part, result: needed.result };
      compare(table, needed.parts, own, (row, pair) => onDiffering(from + row, pair));
      releaseNeeded(needed.parts, parts);
    }
  }

  readonly #compareSlice: typeof compareByField = (records, parts, order, onDiffering) => {
    const tables = this.#tables;
    const addresses = tables.hold([...parts, records]);
    const own = addresses.at(-1)!;
    const descriptions = new Int32Array(parts.length * PART_INTS);
    for (const [i, { fields, pairs }] of parts.entries()) {
      const numbers = pairs.flatMap(({ sentField, resultField, isFolded }) => [
        ...[sentField, resultField, isFolded ? 1 : 0],
        ...Array<number>(PAIR_INTS - 3).fill(0),
      ]);
      const { bytes, starts, ends } = addresses[i]!;
      const pairsAt = tables.load(bytesOf(Int32Array.from(numbers)));
      descriptions.set([bytes, starts, ends, fields, pairsAt, pairs.length], i * PART_INTS);
    }
    const partsAt = tables.load(bytesOf(descriptions));
    const partAt = tables.load(bytesOf(order.part));
    const resultAt = tables.load(bytesOf(order.result));

    const { exports } = tables.memory;
    const { count, fields } = records;
    let pair = 0;
    for (let row = 0; row < count; ) {
      // Not spread from an array, because creating the array costs more.
      row = exports.findDiffering(
        row,
        pair,
        count,
        own.bytes,
        own.starts,
        own.ends,
        fields,
        partsAt,
        partAt,
        resultAt,
      );
      if (row === count) return;
      pair = exports.differingPair.value;
      onDiffering(row, pair);
      pair += 1;
    }
  };
}

/** Does the same without WebAssembly, field by field, for tables of any size. */
function compareByField(
  records: Table,
  parts: readonly EchoPart[],
  { part, result }: MatchOrder,
  onDiffering: (record: number, pair: number) => void,
): void {
  for (let row = 0; row < records.count; row++) {
    const answered = parts[part[row]!]!;
    for (const [at, { sentField, resultField, isFolded }] of answered.pairs.entries()) {
      const sent = fieldValue(records, row, sentField);
      const back = fieldValue(answered, result[row]!, resultField);
      if (sent === back || (isFolded && lowerAscii(sent) === lowerAscii(back))) continue;
      onDiffering(row, at);
    }
  }
}

function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
