/** What searches gave for single records, in the shape of a part, so that it is laid over and written as one. */
import type { Search } from '../checkpoint/checkpoint.js';
import { ByteWriter } from '../csv/byte-writer.js';
import { writeValue } from '../csv/write-field.js';
import type { NumberedAnswers } from './answers.js';

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
