import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { countRecords } from '../../../src/csv/kernel/count-records.js';
import { cutAt } from '../../helpers/csv/batches.js';
import { forTime } from '../../helpers/properties/for-time.js';

async function count(pieces: readonly Buffer[]): Promise<{ count: number; content: Buffer }> {
  const source = async function* () {
    yield* pieces;
  };
  const counted = countRecords(source());
  const seen: Buffer[] = [];
  for await (const piece of counted.content) seen.push(piece);
  return { count: counted.count(), content: Buffer.concat(seen) };
}

it.each([
  ['nothing', '', 0],
  ['a header alone', 'a,b', 0],
  ['a header and its line end', 'a,b\r\n', 0],
  ['a last record without line end', 'a,b\n1,2\n3,4', 2],
  ['blank lines', '\n\na,b\r\n\r\n1,2\n\n\n', 1],
  ['line ends within quotes', 'a,b\n"1\n\r\n",2\n"","\n"\n', 2],
  ['doubled quotes', 'a,b\n"""\n""",2\n1,""\n', 2],
])('%s', async (_, text, expected) => {
  expect(await count([Buffer.from(text)])).toEqual({ count: expected, content: Buffer.from(text) });
});

it('counts what csv-parse reads, wherever the pieces are cut', async () => {
  const field = fc.oneof(
    fc.constantFrom('', 'x', '""', '"\n"', '"a""b"', '"\r\n"', '","', 'é', ' '),
    fc.string({ maxLength: 4 }).map((text) => `"${text.replaceAll('"', '""')}"`),
  );
  const row = fc.tuple(field, field, fc.constantFrom('\n', '\r\n', '\n\n', '\r\n\r\n'));
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 8 }),
      fc.array(fc.nat(60)),
      async (rows, cuts) => {
        const text = rows.map(([a, b, end]) => `${a},${b}${end}`).join('');
        const records = parse(text, { record_delimiter: ['\r\n', '\n'], skip_empty_lines: true });
        const { count: found, content } = await count(cutAt(Buffer.from(text), cuts));
        expect(found).toBe(records.length - 1);
        expect(content.toString()).toBe(text);
      },
    ),
    forTime(1_500),
  );
});

/** Lines outside quotes that hold more than CR; an unfinished one counts. */
function filledLines(text: string): number {
  const unquoted = text.replace(/"[^"]*("|$)/g, 'q');
  return unquoted.split('\n').filter((line) => /[^\r]/.test(line)).length;
}

it('treats a line of CRs alone as blank, wherever it is', async () => {
  const some = fc.constantFrom('x', '\r', '\r', '\n', '\n', '"', '\r'.repeat(64), 'x'.repeat(60));
  const text = fc.array(some, { maxLength: 60 }).map((all) => all.join(''));
  await fc.assert(
    fc.asyncProperty(text, fc.array(fc.nat(300), { maxLength: 3 }), async (content, cuts) => {
      const { count: found } = await count(cutAt(Buffer.from(content), cuts));
      expect(found).toBe(Math.max(filledLines(content) - 1, 0));
    }),
    forTime(500, 20_000),
  );
});

/** Text, and how many filled lines it has. */
const stretches: readonly (readonly [string, number])[] = [
  ['a,b\n'.repeat(20_000), 20_000],
  [`"${'\n'.repeat(70_000)}"\n`, 1],
  ['"\n\n"\r\n', 1],
  ['"""\n"\n', 1],
  ['\r\n', 0],
];

it('counts pieces of any size, of two parts at once', async () => {
  const part = fc.record({
    of: fc.array(fc.constantFrom(...stretches), { minLength: 1, maxLength: 10 }),
    cuts: fc.array(fc.nat(1_000_000), { maxLength: 10 }),
  });
  await fc.assert(
    fc.asyncProperty(part, part, async (...parts) => {
      const text = (index: number) => Buffer.from(parts[index]!.of.map(([some]) => some).join(''));
      const found = await Promise.all(parts.map(({ cuts }, index) => count(cutAt(text(index), cuts))));
      const filled = parts.map(({ of }) => of.reduce((sum, [, lines]) => sum + lines, 0));
      expect(found.map(({ count }) => count)).toEqual(filled.map((lines) => Math.max(lines - 1, 0)));
    }),
    forTime(1_500),
  );
});
