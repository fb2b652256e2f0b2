/** Matches results to records by the texts of some of their fields: for tables of any size, and for folded texts. */
import { fieldValue, type Table } from '../table.js';

/** A field of a tuple. */
export interface TupleField {
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
export interface TupleMatches {
  /** For each record: the index of its part, and of its result there; the part is -1 if it has no result. */
  readonly part: Int32Array;
  readonly result: Int32Array;
  /** For each record: the first record with the same tuple. */
  readonly first: Int32Array;
  readonly unmatched: readonly UnmatchedResult[];
  /**
   * Records whose results may differ from that of the first record with the same tuple, ascending; results of others
   * equal it. Empty if some records or results have no match.
   */
  readonly unequal: readonly number[];
}

/** A result without a record. */
export interface UnmatchedResult {
  readonly part: number;
  readonly result: number;
  /** The first record with its tuple, all of which have other results; -1 if there is none. */
  readonly first: number;
}

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
