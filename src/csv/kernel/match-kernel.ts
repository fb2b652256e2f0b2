/**
 * Matches results to records by the values of some of their fields. WebAssembly uses a hash with a random key and compares
 * bytes. For tables that do not fit into its memory, and for folded texts, texts are compared.
 */
import { randomBytes } from 'node:crypto';
import { bytesOf, INT_BYTES, MemoryLayout, slotsFor } from '../../kernel/kernel-memory.js';
import { fieldValue, type Table } from '../table.js';
import type { TableMemory } from './table-memory.js';

/** A field of a tuple. */
interface TupleField {
  /** Its index in the table; -1 only in a table without rows. */
  readonly field: number;
  /** Makes texts equal that count as equal; null if only equal texts do. */
  readonly fold: ((text: string) => string) | null;
}

/** Rows with the fields that make up their tuples. */
export interface TupleTable extends Table {
  readonly chosen: readonly TupleField[];
}

/** Which result belongs to each record. Records with equal tuples get their results in order. */
interface TupleMatches {
  /** For each record: the index of its part, and of its result there; the part is -1 if it has no result. */
  readonly part: Int32Array;
  readonly result: Int32Array;
  /** For each record: the first record with the same tuple. */
  readonly first: Int32Array;
  readonly unmatched: readonly UnmatchedResult[];
  /**
   * Records whose results may differ from that of the first record with the same tuple, ascending; all other results are
   * equal to it. Empty if some records or results have no match.
   */
  readonly unequal: readonly number[];
}

/** A result without a record. */
interface UnmatchedResult {
  readonly part: number;
  readonly result: number;
  /** The first record with its tuple; -1 if there is none. All records with this tuple have other results. */
  readonly first: number;
}

/** What assembly/match.ts exports. */
export interface MatchExports {
  indexTuples(table: number, work: number): void;
  matchTuples(part: number, table: number, records: number, work: number, unmatched: number): number;
  findUnequal(tables: number, count: number, work: number, out: number): number;
}

/** Numbers of a table as assembly/match.ts reads it. */
const TABLE_INTS = 8;
const SECRET_BYTES = 16;
/** Bytes of a tuple's hash, and of the length after each of its values. */
const HASH_BYTES = 16;
const LENGTH_BYTES = 4;

export class MatchKernel {
  readonly #tables: TableMemory<MatchExports>;
  readonly #secret: Uint8Array;

  /**
   * @param tables may be shared with another kernel that works on the same tables.
   * @param secret the key of the hashes, `SECRET_BYTES` long. A random one makes equal hashes rare for any source.
   */
  constructor(tables: TableMemory<MatchExports>, secret: Uint8Array = randomBytes(SECRET_BYTES)) {
    this.#tables = tables;
    this.#secret = secret;
  }

  /** @param layouts a number for each part; parts with equal numbers have equal columns and the same status. */
  match(records: TupleTable, parts: readonly TupleTable[], layouts: readonly number[]): TupleMatches {
    const all = [records, ...parts];
    const isExact = all.every(({ chosen }) => chosen.every(({ fold }) => fold === null));
    if (!isExact || !this.#tables.canHold(all)) return matchByText(records, parts);
    const tables = this.#tables;
    const addresses = tables.hold(all);
    const descriptions = new Int32Array(all.length * TABLE_INTS);
    for (const [i, { fields, count, chosen }] of all.entries()) {
      const { bytes, starts, ends } = addresses[i]!;
      const chosenAt = tables.load(bytesOf(Int32Array.from(chosen, ({ field }) => field)));
      const layout = layouts[i - 1] ?? 0;
      descriptions.set([bytes, starts, ends, fields, count, chosenAt, chosen.length, layout], i * TABLE_INTS);
    }
    const recordsAt = tables.load(bytesOf(descriptions));
    const partsAt = recordsAt + TABLE_INTS * INT_BYTES;
    const { workAt, part, result, first, out } = this.#prepare(records, parts);
    const { exports } = tables.memory;
    exports.indexTuples(recordsAt, workAt);
    const unmatched = parts.flatMap((table, i) => {
      if (table.count === 0) return [];
      const count = exports.matchTuples(i, partsAt + i * TABLE_INTS * INT_BYTES, recordsAt, workAt, out);
      const found = this.#ints(out, 2 * count);
      return Array.from({ length: count }, (_, at) => ({
        part: i,
        result: found[2 * at]!,
        first: found[2 * at + 1]!,
      }));
    });
    const matches = {
      part: this.#ints(part, records.count),
      result: this.#ints(result, records.count),
      first: this.#ints(first, records.count),
      unmatched,
    };
    if (unmatched.length > 0 || matches.part.includes(-1)) return { ...matches, unequal: [] };
    const unequal = exports.findUnequal(partsAt, records.count, workAt, out);
    return { ...matches, unequal: [...this.#ints(out, unequal)] };
  }

  /** Lays out the memory after the tables. */
  #prepare(records: TupleTable, parts: readonly TupleTable[]) {
    const { count } = records;
    const slots = slotsFor(count);
    const layout = new MemoryLayout(this.#tables.end);
    const workAt = layout.placeInts(10);
    const secretAt = layout.placeBytes(SECRET_BYTES);
    const widest = [records, ...parts].map(
      ({ bytes, chosen }) => bytes.length + chosen.length * LENGTH_BYTES,
    );
    const scratchAt = layout.placeBytes(HASH_BYTES + Math.max(...widest));
    const slotsAt = layout.placeInts(slots);
    const [hashes, first, next, reached, part, result] = [0, 1, 2, 3, 4, 5].map(() =>
      layout.placeInts(count),
    );
    const out = layout.placeInts(2 * Math.max(count, ...parts.map((table) => table.count)));
    const { memory } = this.#tables;
    memory.reserve(layout.end);
    memory.bytes.set(this.#secret, secretAt);
    memory.bytes.fill(0, slotsAt, slotsAt + slots * INT_BYTES);
    const work = [secretAt, scratchAt, slotsAt, slots - 1, hashes!, first!, next!, reached!, part!, result!];
    memory.bytes.set(bytesOf(Int32Array.from(work)), workAt);
    return { workAt, part: part!, result: result!, first: first!, out };
  }

  /** A copy of numbers in the memory. */
  #ints(address: number, length: number): Int32Array<ArrayBuffer> {
    return new Int32Array(this.#tables.memory.bytes.buffer, address, length).slice();
  }
}

/** Does the same without WebAssembly. */
export function matchByText(records: TupleTable, parts: readonly TupleTable[]): TupleMatches {
  const { count } = records;
  const part = new Int32Array(count).fill(-1);
  const result = new Int32Array(count);
  const first = new Int32Array(count);
  const queues = new Map<string, Queue>();
  for (let row = 0; row < count; row++) {
    const tuple = tupleText(records, row);
    const queue = queues.get(tuple);
    if (queue === undefined) queues.set(tuple, { records: [row], taken: 0 });
    else queue.records.push(row);
    first[row] = queue?.records[0] ?? row;
  }
  const unmatched: UnmatchedResult[] = [];
  for (const [at, table] of parts.entries()) {
    for (let row = 0; row < table.count; row++) {
      const queue = queues.get(tupleText(table, row));
      const record = queue?.records[queue.taken];
      if (queue === undefined || record === undefined) {
        unmatched.push({ part: at, result: row, first: queue?.records[0] ?? -1 });
        continue;
      }
      queue.taken += 1;
      part[record] = at;
      result[record] = row;
    }
  }
  const isWhole = unmatched.length === 0 && !part.includes(-1);
  const unequal = isWhole ? [...first.keys()].filter((row) => first[row] !== row) : [];
  return { part, result, first, unmatched, unequal };
}

/** Records with equal tuples, in their order. */
interface Queue {
  readonly records: number[];
  /** How many of them have a result. */
  taken: number;
}

/** A text that is equal for equal tuples. NUL is between values, because no field may hold it. */
export function tupleText(table: TupleTable, row: number): string {
  const values = table.chosen.map(({ field, fold }) => {
    const text = fieldValue(table, row, field);
    return fold === null ? text : fold(text);
  });
  return values.join('\0');
}
