/** Reasons of failures are counted as if each record were counted by itself, and each text is shown once. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createReasonCounter } from '../../src/failure-reasons.js';
import { type Answers, refusedAnswers } from '../../src/results/answers.js';
import { countReasons } from '../../src/results/row-counts.js';
import { failed, successful } from '../helpers/csv/result-parts.js';

const lineage = { run: null, folio: 'F1', part: 0, answeredAt: 0, answered: [], records: null };
const sources: Answers['sources'] = [
  { origin: 'sent', ...lineage, table: successful('id\n') },
  { origin: 'sent', ...lineage, table: failed('id\n') },
  ...refusedAnswers(1, 'it is refused').sources,
];
const texts = ['no match', 'NO MATCH', 'token t', ''];
const show = (text: string) => text.toLowerCase().replace('token t', 'no match');

test('reasons count as if each record counted by itself', () => {
  const row = fc.record({ source: fc.nat({ max: 2 }), result: fc.nat({ max: texts.length - 1 }) });
  fc.assert(
    fc.property(fc.array(row, { maxLength: 40 }), fc.nat({ max: 40 }), (rows, most) => {
      const count = Math.min(most, rows.length);
      const shown: string[] = [];
      const counted = countReasons(
        {
          sources,
          source: Int32Array.from(rows, ({ source }) => source),
        },
        count,
        (at) => texts[rows[at]!.result]!,
        (text) => {
          shown.push(text);
          return show(text);
        },
      );
      const one = createReasonCounter();
      for (const { source, result } of rows.slice(0, count)) {
        if (source === 1) one.add({ code: 'SERVICE_FAILED', reason: show(texts[result]!), records: 1 });
        if (source === 2) one.add({ code: 'RECORD_REFUSED', reason: 'it is refused', records: 1 });
      }
      expect(counted).toEqual(one.top());
      expect(new Set(shown).size).toBe(shown.length);
    }),
  );
});
