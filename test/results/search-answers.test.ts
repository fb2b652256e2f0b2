import { describe, expect, it } from 'vitest';
import { answersFromJoin, overlay, type ResultSource } from '../../src/results/answers.js';
import { joinByKey } from '../../src/results/join-by-key.js';
import { searchAnswers, searchValues } from '../../src/results/search-answers.js';
import { failed, successful } from '../helpers/csv/result-parts.js';

describe('a search', () => {
  it('gives answers without folio and part, with any text in them', () => {
    const numbers = Int32Array.of(1, 2, 3);
    const parts = [successful('id,code\n2,c\n'), failed('id,reason\n1,r\n3,r\n')];
    const older = {
      numbers,
      answers: answersFromJoin(joinByKey(parts, 'id', numbers), { folio: 'A', answeredAt: 0 }),
    };
    const found = searchAnswers([
      { record: 1, startedAt: 1, values: { code: '', title: 'a "b",\nc' } },
      { record: 3, startedAt: 3, values: { title: 't', score: '1' } },
    ]);
    const { sources, source, result } = overlay(older, found);
    expect(sources.at(-1)).toMatchObject({ folio: null, part: null, answeredAt: 3, table: { count: 2 } });
    const { table } = sources.at(-1) as ResultSource;
    expect(table.columns).toEqual(['code', 'title', 'score']);
    expect(Buffer.from(table.bytes).toString()).toBe(',"a ""b"",\nc",\n,t,1\n');
    expect([...source].map((at) => sources[at]!.answeredAt)).toEqual([1, 0, 3]);
    expect([result[0], result[2]]).toEqual([0, 1]);
  });

  it.each([
    [
      { a: { b: 'x' }, n: 5 },
      { one: 'x', two: '5' },
    ],
    [
      { a: { b: ' x\u0000\ny ' }, n: false },
      { one: 'x y', two: 'false' },
    ],
    [
      { a: { b: null }, n: 0 },
      { one: '', two: '0' },
    ],
    [{ a: 'text', n: {} }, null],
    [[{ a: { b: 'x' } }], null],
    ['a.b', null],
    [null, null],
  ])('replies %j', (reply, values) => {
    expect(searchValues(reply, { one: 'a.b', two: 'n' })).toEqual(values);
  });

  it('finds values in lists, but never inherited ones', () => {
    expect(searchValues({ list: [{ code: 7 }] }, { code: 'list.0.code' })).toEqual({ code: '7' });
    expect(searchValues({}, { code: 'constructor.name' })).toBeNull();
  });
});
