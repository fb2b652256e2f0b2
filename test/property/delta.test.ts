/** A delta holds what a plain comparison of two tables holds, in the same order, whatever stands in the fields. */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { computeDelta } from '../../src/delta/compute-delta.js';
import { createLocalDeltaStore } from '../../src/delta/local-delta-store.js';
import { applyDelta, naiveDelta, type Rows, readRows, tableOf } from '../helpers/csv/apply-delta.js';
import { useFolder } from '../helpers/folders/folders.js';
import { forTime } from '../helpers/properties/for-time.js';

const folder = useFolder();
const limits = forTime(1_500);
const columns = ['a', 'b', 'c', 'd'];

const value = fc.oneof(
  fc.constantFrom('', 'x', 'y', 'é', '"', ',', '\n', 'a"b', ' x', 'x '),
  fc.string({ maxLength: 20 }).filter((text) => !/[\p{Surrogate}\0]/u.test(text)),
);
/** Quotes that the value does not need make no difference, but those of an empty text. */
const field = fc.record({ value, quoted: fc.boolean() });
type Field = { readonly value: string; readonly quoted: boolean };
const row = fc.tuple(field, field, field, field);

function write(rows: readonly (readonly Field[])[]): string {
  const text = ({ value, quoted }: Field) =>
    quoted || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  return [columns.join(','), ...rows.map((one) => one.map(text).join(','))]
    .map((line) => `${line}\n`)
    .join('');
}

it('over three nights', async () => {
  const root = await folder();
  let night = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom([0], [2], [1, 0], [0, 1, 3]),
      fc.array(fc.array(row, { minLength: 1, maxLength: 40 }), { minLength: 3, maxLength: 3 }),
      async (keyFields, nights) => {
        const key = keyFields.map((one) => columns[one]!);
        const keyOf = (one: readonly Field[]) => JSON.stringify(keyFields.map((at) => one[at]!.value));
        const store = createLocalDeltaStore(join(root, String(night++)));
        let base: Rows = [];
        let table = new Map<string, readonly string[]>();
        for (const [index, rows] of nights.entries()) {
          // Keys are unique, and most come again on another night.
          const unique = [...new Map(rows.map((one) => [keyOf(one), one])).values()];
          const csv = write(unique);
          const sha256 = createHash('sha256').update(csv).digest('hex');
          const path = join(root, 'out.csv');
          await writeFile(path, csv);
          const pieces: Buffer[] = [];
          const last = await store.last('p');
          const delta = await computeDelta(
            {
              store,
              pipeline: 'p',
              last,
              key,
              table: { path, columns, keyFields, answerFields: [] },
              folder: root,
              sha256,
              changeColumn: 'change',
              signal: new AbortController().signal,
              onDigests: () => undefined,
            },
            (piece) => pieces.push(Buffer.from(piece)),
          );
          const [header, ...found] = readRows(Buffer.concat(pieces));
          const [, ...output] = readRows(csv);
          expect(header).toEqual([...columns, 'change']);
          expect(found).toEqual(naiveDelta(base, output, keyFields));
          table = applyDelta(table, found, keyFields);
          expect(table).toEqual(tableOf(output, keyFields));
          expect(delta.base).toEqual(index === 0 ? null : { publication: index, sha256: last!.sha256 });
          expect(delta.added + delta.changed + delta.removed).toBe(found.length);
          await store.recordLast('p', {
            publication: index + 1,
            sha256,
            key,
            columns,
            digests: delta.digests,
          });
          base = output;
        }
      },
    ),
    limits,
  );
});
