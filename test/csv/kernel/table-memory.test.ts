import { describe, expect, it } from 'vitest';
import { COMMA } from '../../../src/csv/bytes.js';
import {
  fieldRuns,
  neededResults,
  rowRange,
  SLICE_BYTES,
  slicesOf,
} from '../../../src/csv/kernel/table-memory.js';
import { fieldValue, type Table } from '../../../src/csv/table.js';

const FILLER = 'x'.repeat(999);

/** Rows of two fields and about 1,000 bytes, with a gap of 3 bytes between them. */
function tableOf(count: number, name: string): Table {
  const texts = Array.from({ length: count }, (_, row) => `${name}${row},${FILLER}`);
  const starts = new Int32Array(count);
  const ends = new Int32Array(count * 2);
  let at = 0;
  for (const [row, text] of texts.entries()) {
    starts[row] = at;
    ends[row * 2] = at + text.indexOf(',');
    ends[row * 2 + 1] = at + text.length;
    at += text.length + 3;
  }
  return { bytes: Buffer.from(texts.map((text) => `${text}bad`).join('')), count, fields: 2, starts, ends };
}

const valuesOf = (table: Table) =>
  Array.from({ length: table.count }, (_, row) => [
    fieldValue(table, row, 0),
    fieldValue(table, row, 1).length,
  ]);
const expected = (name: string, from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => [`${name}${from + i}`, FILLER.length]);

describe('rows of a table', () => {
  it('are a table over only their own bytes', () => {
    const rows = rowRange(tableOf(10, 'a'), 3, 7);
    expect(valuesOf(rows)).toEqual(expected('a', 3, 7));
    expect(rows.bytes.length).toBeLessThan(4 * 1010);
    expect(rowRange(tableOf(10, 'a'), 3, 3)).toMatchObject({ count: 0, fields: 2 });
  });

  it('of a large table come in slices, in order; a small table is its own slice', () => {
    const small = tableOf(10, 'a');
    expect([...slicesOf(small)]).toEqual([{ table: small, from: 0 }]);
    // The values are read at once, because a slice is valid until the next one.
    const slices = Array.from(slicesOf(tableOf(5000, 'a')), ({ table, from }) => ({
      from,
      bytes: table.bytes.length,
      values: valuesOf(table),
    }));
    expect(slices).toHaveLength(3);
    for (const { bytes } of slices) expect(bytes).toBeLessThanOrEqual(SLICE_BYTES);
    expect(slices.flatMap(({ values }) => values)).toEqual(expected('a', 0, 5000));
    expect(slices.map(({ from }) => from)).toEqual([0, slices[0]!.values.length, expect.any(Number)]);
  });
});

describe('the results that some records need', () => {
  const none = {
    bytes: new Uint8Array(0),
    count: 0,
    fields: 0,
    starts: new Int32Array(0),
    ends: new Int32Array(0),
  };
  const order = { part: Int32Array.of(0, 2, 0, 1), result: Int32Array.of(7, 3, 5, 0) };

  it('are all, as long as they are few', () => {
    const parts = [tableOf(10, 'a'), none, tableOf(10, 'b')];
    expect(neededResults(parts, order, 4)).toEqual({ parts, result: order.result });
  });

  it('are the rows between the first and the last one that is needed', () => {
    const parts = [tableOf(2000, 'a'), none, tableOf(2000, 'b'), tableOf(100, 'c')];
    const needed = neededResults(parts, order, 4);
    expect(needed.parts.map(valuesOf)).toEqual([expected('a', 5, 8), [], expected('b', 3, 4), []]);
    expect([...needed.result]).toEqual([2, 0, 0, 0]);
  });

  it('of a part with isWritten are not cut, because its rows may share bytes in any order', () => {
    const { starts, ends, ...shared } = tableOf(2000, 'a');
    const written = { ...shared, starts: starts.toReversed(), ends, isWritten: true };
    const needed = neededResults([written, none, tableOf(4000, 'b')], order, 4);
    expect(needed.parts[0]).toBe(written);
    expect([...needed.result]).toEqual([7, 0, 5, 0]);
  });
});

describe('fieldRuns', () => {
  it.each([
    ['neighbours are one run', [2, 3, 4], [2, 4]],
    ['others are runs of their own', [4, 2, 3, 0], [4, 4, 2, 3, 0, 0]],
    [
      'an empty field is a run of its own, before the first field too',
      [-1, 0, 1, -1, -1],
      [-1, -1, 0, 1, -1, -1, -1, -1],
    ],
    ['nothing is no run', [], []],
  ])('%s', (_, fields, runs) => {
    expect([...fieldRuns(fields, COMMA)]).toEqual(runs);
  });

  it('fields with another delimiter between them are copied one by one', () => {
    expect([...fieldRuns([0, 1], 0x3b)]).toEqual([0, 0, 1, 1]);
  });
});
