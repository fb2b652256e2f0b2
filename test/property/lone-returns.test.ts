/**
 * A CR without an LF is content of a source or a part. The output holds it within quotes, so that readers for which a CR
 * ends a line read the same values. All other bytes of a comma source stay unchanged.
 */
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Answers, refusedAnswers, unprocessedAnswers } from '../../src/results/answers.js';
import { createOutputLayout } from '../../src/results/output-layout.js';
import { createRowWriter } from '../../src/results/row-writer.js';
import { blockOf, failed, successful } from '../helpers/csv/result-parts.js';
import { forTime } from '../helpers/properties/for-time.js';

const columns = ['a', 'b', 'c'];
/** Reads as csv-parse does by default, and as a reader does for which a CR ends a line. */
const strict = { record_delimiter: ['\r\n', '\n'] };
const anyLineEnd = { record_delimiter: ['\r\n', '\n', '\r'] };

/** A raw field, unquoted or quoted. */
const field = fc.oneof(
  fc
    .array(fc.constantFrom('a', '\r', 'é', ' ', 'x'.repeat(62), '\r\r'), { minLength: 0, maxLength: 4 })
    .map((pieces) => pieces.join('')),
  fc
    .array(fc.constantFrom('a', '\r', '\n', '\r\n', ',', ';', '""', 'y'.repeat(40)), { maxLength: 4 })
    .map((pieces) => `"${pieces.join('')}"`),
);
const setup = fc.record({
  rows: fc.array(fc.tuple(field, field, field, field), { minLength: 1, maxLength: 6 }),
  delimiter: fc.constantFrom(',', ';'),
  newline: fc.constantFrom('\n', '\r\n'),
  kept: fc.constantFrom<'all' | string[]>('all', ['c', 'a'], ['b', 'c']),
  kind: fc.constantFrom('success', 'failure', 'refused', 'unprocessed'),
});

it('are quoted in the output, and nothing else is changed', async () => {
  await fc.assert(
    fc.asyncProperty(setup, async ({ rows, delimiter, newline, kept, kind }) => {
      const text = rows.map((row) => row.slice(0, 3).join(delimiter) + newline).join('');
      const source = { columns, files: [{ dialect: { delimiter } }] };
      const layout = createOutputLayout(source, { columns: kept, prefix: 'p_', lineage: false });
      const writer = createRowWriter({ run: 'R', layout, columns: ['d'], sentColumns: new Set(['id']) });
      const records = await blockOf(text, { fields: 3, delimiter });
      const values = parse(text, { ...strict, delimiter }) as string[][];
      expect(records.count).toBe(values.length);

      const results = rows.map(([, , , answer], at) => `${at + 1},${answer}${newline}`).join('');
      const answers = parse(results, strict) as string[][];
      const said = answers.map(([, answer]) => answer!);
      const { bytes } = {
        success: () => writer.write(records, answersFromJoin(successful(`id,d\n${results}`), rows.length)),
        failure: () => writer.write(records, answersFromJoin(failed(`id,why\n${results}`), rows.length)),
        refused: () => writer.write(records, refusedAnswers(records.count, said[0]!)),
        unprocessed: () => writer.write(records, unprocessedAnswers(records.count, 'DEADLINE', null)),
      }[kind]();
      const behind = (at: number): unknown[] =>
        ({
          success: ['SUCCESSFUL', '', '', said[at]],
          failure: ['FAILED', 'SERVICE_FAILED', said[at], ''],
          refused: ['FAILED', 'RECORD_REFUSED', said[0], ''],
          unprocessed: ['UNPROCESSED', 'DEADLINE', expect.any(String), ''],
        })[kind];

      const fieldIndexes = kept === 'all' ? [0, 1, 2] : kept.map((name) => columns.indexOf(name));
      const expected = values.map((row, at) => [...fieldIndexes.map((field) => row[field]), ...behind(at)]);
      expect(parse(bytes, anyLineEnd)).toEqual(expected);
      if (delimiter !== ',') return;
      let from = 0;
      for (const row of rows) {
        // The last CR before an LF belongs to the line end.
        const last = newline === '\n' ? row[2].replace(/\r$/, '') : row[2];
        const fields = [row[0], row[1], last].map(asItComesOut);
        const raw = Buffer.from(`${fieldIndexes.map((field) => fields[field]).join(',')},`);
        expect(bytes.subarray(from, from + raw.length)).toEqual(raw);
        from = bytes.indexOf('\n', lineEndFrom(bytes, from)) + 1;
      }
    }),
    forTime(700, 20_000),
  );
});

function answersFromJoin(table: ReturnType<typeof successful>, count: number): Answers {
  return {
    sources: [
      {
        origin: 'sent',
        table,
        run: null,
        folio: 'F',
        part: 0,
        answeredAt: 0,
        records: null,
        answered: [],
      },
    ],
    source: new Int32Array(count),
    result: Int32Array.from({ length: count }, (_, at) => at),
    indistinct: new Set(),
  };
}

function asItComesOut(raw: string): string {
  return raw.includes('\r') && !raw.startsWith('"') ? `"${raw}"` : raw;
}

/** The line feed outside quotes that ends the row. */
function lineEndFrom(bytes: Buffer, from: number): number {
  let quoted = false;
  for (let at = from; ; at++) {
    if (bytes[at] === 0x22) quoted = !quoted;
    if (bytes[at] === 0x0a && !quoted) return at;
  }
}
