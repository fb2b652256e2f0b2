/** Answers of the single-record search, in the shape of a part, so that they are overlaid and written like a part. */
import type { Search } from '../checkpoint/checkpoint.js';
import { ByteWriter } from '../csv/byte-writer.js';
import { COMMA, LF } from '../csv/bytes.js';
import { writeValue } from '../csv/write-field.js';
import { oneLine } from '../text.js';
import type { NumberedAnswers } from './answers.js';
import type { PartTable } from './part-table.js';

/** A search that was answered. */
export type AnsweredSearch = Pick<Search, 'record' | 'startedAt'> & {
  readonly values: NonNullable<Search['values']>;
};

/** @param searches in the order of their records. */
export function searchAnswers(searches: readonly AnsweredSearch[]): NumberedAnswers {
  const table = tableOf(searches);
  const shared = {
    origin: 'sent',
    run: null,
    folio: null,
    part: null,
    table,
    answered: [],
    records: null,
  } as const;
  return {
    numbers: Int32Array.from(searches, ({ record }) => record),
    answers: {
      // A source for each search, because each has a time of its own.
      sources: searches.map(({ startedAt }) => ({ ...shared, answeredAt: startedAt })),
      source: Int32Array.from(searches, (_, at) => at),
      result: Int32Array.from(searches, (_, at) => at),
      indistinct: new Set(),
    },
  };
}

function tableOf(searches: readonly AnsweredSearch[]): PartTable {
  const columns = [...new Set(searches.flatMap(({ values }) => Object.keys(values)))];
  const count = searches.length;
  const fields = columns.length;
  const out = new ByteWriter(1024);
  const starts = new Int32Array(count);
  const ends = new Int32Array(count * fields);
  for (const [row, { values }] of searches.entries()) {
    starts[row] = out.length;
    for (const [field, column] of columns.entries()) {
      if (field > 0) out.byte(COMMA);
      writeValue(out, values[column] ?? '');
      ends[row * fields + field] = out.length;
    }
    out.byte(LF);
  }
  const reference = { fileStatus: 'SUCCESSFUL', part: 0 } as const;
  return { reference, columns, bytes: out.take(), count, fields, starts, ends };
}

/**
 * The values in a reply of the single-record search (the interface's section 4.4: any JSON).
 *
 * @param columns result column to the path of its value in the reply.
 * @returns a text for each column, empty if the reply lacks it; null if the reply has no value at all.
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
  // CSV readers reject some control characters, so neither parts nor the output may hold any.
  return typeof value === 'string' ? oneLine(value, /\p{Cc}+/gu) : '';
}
