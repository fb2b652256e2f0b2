import fc from 'fast-check';
import { expect, it } from 'vitest';
import { scanBuffer } from '../../src/csv/scan-records.js';
import { createPredictionCounter } from '../../src/results/count-predictions.js';

type Row = readonly [status: string, code: string, confidence: string];

function counted(rows: readonly Row[], fields = { status: 0, code: 1, confidence: 2 }) {
  const quoted = (value: string) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const csv = Buffer.from(rows.map((row) => `${row.map(quoted).join(',')}\n`).join(''));
  const counter = createPredictionCounter(fields);
  const options = { delimiter: ',', fields: 3, maxRecordBytes: 1e6, file: 0, base: 0, firstRecord: 1 };
  const onBadRecord = () => expect.unreachable();
  for (const batch of scanBuffer(csv, { ...options, onBadRecord })) counter.add(batch);
  return counter.counted({ code: 'c', confidence: 'p' });
}

const code = fc.oneof(
  fc.constantFrom('722511', '541511', 'a,b', 'q"q', 'é', ''),
  fc.string({ unit: fc.constantFrom('a', 'b', '0'), maxLength: 3 }),
);
const confidence = fc.oneof(
  fc.double({ min: 0, max: 1, noNaN: true }).map(String),
  fc.integer({ min: -3, max: 130 }).map(String),
  fc.constantFrom('', 'high', '.', '1.', '.5', '1e-3', '0.1234567890123456789', '1.2.3', 'NaN', ' 0.5'),
);
const row = fc.tuple(fc.constantFrom('SUCCESSFUL', 'FAILED', 'UNPROCESSED'), code, confidence);

it('counts as a map of texts does', () => {
  fc.assert(
    fc.property(fc.array(row, { maxLength: 60 }), (rows) => {
      const good = rows.filter(([status]) => status === 'SUCCESSFUL');
      const found = counted(rows);
      const codes = new Map<string, number>();
      for (const [, one] of good) if (one !== '') codes.set(one, (codes.get(one) ?? 0) + 1);
      expect(new Map(found.codes.map((one) => [one.code, one.records]))).toEqual(codes);
      expect(found.coded).toBe([...codes.values()].reduce((sum, one) => sum + one, 0));
      expect(found.rest).toEqual({ codes: 0, records: 0 });
      const numbers = good.map(([, , text]) => (text.trim() === '' ? Number.NaN : Number(text)));
      const known = numbers.filter(Number.isFinite);
      if (known.length === 0) {
        expect(found.confidences).toBeNull();
        return;
      }
      const { records, unreadable, mean, min, max, bins, outside, scale } = found.confidences!;
      expect([records, unreadable]).toEqual([known.length, numbers.length - known.length]);
      expect(mean).toBeCloseTo(known.reduce((sum, one) => sum + one, 0) / known.length, 9);
      expect([min, max]).toEqual([Math.min(...known), Math.max(...known)]);
      expect(scale).toBe(max > 1 ? 100 : 1);
      expect(bins.reduce((sum, one) => sum + one, outside)).toBe(records);
      expect(outside).toBe(known.filter((one) => one < 0 || one > 100).length);
    }),
  );
});

it('gives the mean confidence of a code', () => {
  const { codes } = counted([
    ['SUCCESSFUL', 'a', '0.5'],
    ['SUCCESSFUL', 'a', '0.75'],
    ['SUCCESSFUL', 'a', 'unknown'],
    ['SUCCESSFUL', 'b', ''],
  ]);
  expect(codes).toEqual([
    { code: 'a', records: 3, confidence: 0.625 },
    { code: 'b', records: 1, confidence: null },
  ]);
});

it('keeps the commonest codes, and its size does not grow with different ones', () => {
  const rows = Array.from({ length: 30_000 }, (_, at): Row => ['SUCCESSFUL', `code-${at}`, '']);
  const often = Array.from({ length: 9 }, (): Row => ['SUCCESSFUL', 'code-7', '']);
  const found = counted([...rows, ...often]);
  expect(found.codes[0]).toEqual({ code: 'code-7', records: 10, confidence: null });
  expect(found.codes).toHaveLength(50);
  expect(found.coded).toBe(30_009);
  expect(found.rest).toEqual({ codes: 9951, records: 30_009 - 59 });
});

it('counts only one of both columns', () => {
  const rows: Row[] = [['SUCCESSFUL', 'a', '0.5']];
  expect(counted(rows, { status: 0, code: -1, confidence: 2 })).toMatchObject({
    coded: 0,
    confidences: { mean: 0.5 },
  });
  expect(counted(rows, { status: 0, code: 1, confidence: -1 })).toMatchObject({
    coded: 1,
    confidences: null,
  });
});
