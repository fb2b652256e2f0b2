/** The one answer that stands for each record of a chunk, from whichever upload or search it came. */
import type { Search } from '../checkpoint/checkpoint.js';
import { ByteWriter } from '../csv/byte-writer.js';
import { writeValue } from '../csv/write-field.js';
import { oneLine } from '../text.js';
import type { ColumnKinds } from '../types.js';
import type { Joined } from './joined.js';
import type { PartTable } from './part-table.js';

/** Results that answers are taken from, and what the lineage says of them. */
export interface AnswerSource {
  readonly table: PartTable;
  /** Null where a search gave it, as is `part`. */
  readonly folio: string | null;
  readonly part: number | null;
  /** Sent columns in which the service answers, in a table of failures. */
  readonly answered: readonly string[];
}

export interface Answers {
  readonly sources: readonly AnswerSource[];
  /** [records of the chunk] index into `sources`. */
  readonly source: Int32Array;
  /** [records of the chunk] number of the result in its table, from 0. */
  readonly result: Int32Array;
  /** Places of records whose equal tuples have different results, so that which got which is not known. */
  readonly indistinct: ReadonlySet<number>;
}

/** Answers, and the numbers of the records that they belong to, ascending. */
export interface NumberedAnswers {
  readonly numbers: Int32Array;
  readonly answers: Answers;
}

/**
 * @param folio where the joined parts come from.
 * @param failed what the sent columns are in parts of failures.
 */
export function answersOf(
  { parts, part, result, indistinct }: Joined,
  folio: string | null,
  failed: ColumnKinds = {},
): Answers {
  const answered = Object.keys(failed).filter((column) => failed[column] === 'answer');
  const sources = parts.map((table) => ({ table, folio, part: table.reference.part, answered }));
  return { sources, source: part, result, indistinct };
}

/** Whether the record at this place of the chunk has failed. */
export function isFailed({ sources, source }: Answers, place: number): boolean {
  return sources[source[place]!]!.table.reference.fileStatus === 'FAILED';
}

/** Whether any record may have failed. */
export function hasFailed({ sources }: Answers): boolean {
  return sources.some(({ table }) => table.reference.fileStatus === 'FAILED' && table.count > 0);
}

/** The older answers, but where a record has failed and there is a newer answer, that one. */
export function layOver({ numbers, answers: older }: NumberedAnswers, newer: NumberedAnswers): Answers {
  const source = older.source.slice();
  const result = older.result.slice();
  const indistinct = new Set(older.indistinct);
  let place = 0;
  for (let at = firstFrom(newer.numbers, numbers[0]!); at < newer.numbers.length; at++) {
    const number = newer.numbers[at]!;
    while (place < numbers.length && numbers[place]! < number) place += 1;
    if (place === numbers.length) break;
    if (numbers[place] !== number || !isFailed(older, place)) continue;
    source[place] = older.sources.length + newer.answers.source[at]!;
    result[place] = newer.answers.result[at]!;
    if (newer.answers.indistinct.has(at)) indistinct.add(place);
    else indistinct.delete(place);
  }
  return { sources: [...older.sources, ...newer.answers.sources], source, result, indistinct };
}

/** Place of the first number that is not below a limit. */
function firstFrom(numbers: Int32Array, limit: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

// What searches gave for single records, in the shape of a part, so that it is laid over and written as one.

/** A search that was answered. */
export type AnsweredSearch = Pick<Search, 'record'> & {
  readonly values: NonNullable<Search['values']>;
};

/** @param searches by record. */
export function searchAnswers(searches: readonly AnsweredSearch[]): NumberedAnswers {
  const columns = [...new Set(searches.flatMap(({ values }) => Object.keys(values)))];
  const out = new ByteWriter(1024);
  const starts = new Int32Array(searches.length);
  const ends = new Int32Array(searches.length * columns.length);
  for (const [at, { values }] of searches.entries()) {
    starts[at] = out.length;
    for (const [field, column] of columns.entries()) {
      if (field > 0) out.byte(comma);
      writeValue(out, values[column] ?? '');
      ends[at * columns.length + field] = out.length;
    }
    out.byte(lineFeed);
  }
  const reference = { fileStatus: 'SUCCESSFUL', part: 0 } as const;
  const table = { reference, columns, bytes: out.take(), count: searches.length, starts, ends };
  return {
    numbers: Int32Array.from(searches, ({ record }) => record),
    answers: {
      sources: [{ table, folio: null, part: null, answered: [] }],
      source: new Int32Array(searches.length),
      result: Int32Array.from(searches, (_, at) => at),
      indistinct: new Set(),
    },
  };
}

const comma = 0x2c;
const lineFeed = 0x0a;

// What a reply of the single-record search says of a record (interface, 4.4: any JSON), by result column.

/**
 * @param columns result column to the path of its value in the reply.
 * @returns a text for each column, empty where the reply has none; null where it has none at all.
 */
export function searchValues(
  reply: unknown,
  columns: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> | null {
  const values = Object.entries(columns).map(([column, path]) => [column, valueAt(reply, path)] as const);
  return values.some(([, value]) => value !== '') ? Object.fromEntries(values) : null;
}

function valueAt(reply: unknown, path: string): string {
  let value = reply;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return '';
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  // No part may hold control characters that no CSV reader takes, and neither may the output.
  return typeof value === 'string' ? oneLine(value, /\p{Cc}+/gu) : '';
}
