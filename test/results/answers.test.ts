import { describe, expect, it } from 'vitest';
import {
  type Answers,
  answersOf,
  hasFailed,
  isFailed,
  layOver,
  searchAnswers,
  searchValues,
} from '../../src/results/answers.js';
import { joinByKey } from '../../src/results/join-by-key.js';
import { failed, successful } from '../helpers/csv/result-parts.js';

const numbered = (numbers: number[], good: number[], folio: string) => {
  const parts = [
    successful(`id,code\n${good.map((n) => `${n},c\n`).join('')}`),
    failed(
      `id,reason\n${numbers
        .filter((n) => !good.includes(n))
        .map((n) => `${n},r\n`)
        .join('')}`,
    ),
  ];
  const all = Int32Array.from(numbers);
  return { numbers: all, answers: answersOf(joinByKey(parts, 'id', all), folio) };
};

/** Folio and status of each record's answer. */
function told({ sources, source }: Answers, numbers: Int32Array): string[] {
  return [...numbers].map((number, place) => {
    const { folio, table } = sources[source[place]!]!;
    return `${number} ${folio} ${table.reference.fileStatus}`;
  });
}

describe('newer answers', () => {
  it('replace those that failed, and no other', () => {
    const older = numbered([4, 5, 7, 8, 9], [5, 9], 'A');
    expect(hasFailed(older.answers)).toBe(true);
    expect(isFailed(older.answers, 0)).toBe(true);
    expect(isFailed(older.answers, 1)).toBe(false);
    // Of records before, between and behind them too: a chunk of a round spans several of the source.
    const newer = numbered([1, 4, 5, 6, 8, 20], [4, 5, 6], 'B');
    const standing = layOver(older, newer);
    expect(told(standing, older.numbers)).toEqual([
      '4 B SUCCESSFUL',
      '5 A SUCCESSFUL',
      '7 A FAILED',
      '8 B FAILED',
      '9 A SUCCESSFUL',
    ]);
    expect(told(older.answers, older.numbers)[0]).toBe('4 A FAILED');
  });

  it('of other records change nothing', () => {
    const older = numbered([4, 5], [], 'A');
    for (const numbers of [[1, 2], [6], [3, 9]]) {
      const standing = layOver(older, numbered(numbers, numbers, 'B'));
      expect(told(standing, older.numbers)).toEqual(['4 A FAILED', '5 A FAILED']);
    }
  });

  it('bring their own doubt, and end that of the answers that they replace', () => {
    const older = numbered([1, 2, 3], [1], 'A');
    const newer = numbered([2, 3], [2, 3], 'B');
    const standing = layOver(
      { ...older, answers: { ...older.answers, indistinct: new Set([0, 1]) } },
      { ...newer, answers: { ...newer.answers, indistinct: new Set([1]) } },
    );
    expect([...standing.indistinct].sort()).toEqual([0, 2]);
  });
});

describe('a search', () => {
  it('gives answers that stand for no folio and no part, with any text in them', () => {
    const older = numbered([1, 2, 3], [2], 'A');
    const found = searchAnswers([
      { record: 1, values: { code: '', title: 'a "b",\nc' } },
      { record: 3, values: { title: 't', score: '1' } },
    ]);
    const { sources, source, result } = layOver(older, found);
    expect(sources.at(-1)).toMatchObject({ folio: null, part: null, table: { count: 2 } });
    const { table } = sources.at(-1)!;
    expect(table.columns).toEqual(['code', 'title', 'score']);
    expect(Buffer.from(table.bytes).toString()).toBe(',"a ""b"",\nc",\n,t,1\n');
    expect([...source].map((at) => at === sources.length - 1)).toEqual([true, false, true]);
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

  it('finds its way into lists, and never to what an object inherits', () => {
    expect(searchValues({ list: [{ code: 7 }] }, { code: 'list.0.code' })).toEqual({ code: '7' });
    expect(searchValues({}, { code: 'constructor.name' })).toBeNull();
  });
});
