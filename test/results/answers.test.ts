import { describe, expect, it } from 'vitest';
import {
  type Answers,
  answersFromJoin,
  isFailed,
  mayHaveFailures,
  overlay,
  statusOf,
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
  return { numbers: all, answers: answersFromJoin(joinByKey(parts, 'id', all), { folio, answeredAt: 0 }) };
};

/** Folio and status of each record's answer. */
function statusesOf({ sources, source }: Answers, numbers: Int32Array): string[] {
  return [...numbers].map((number, record) => {
    const one = sources[source[record]!]!;
    return `${number} ${one.folio} ${statusOf(one)}`;
  });
}

describe('newer answers', () => {
  it('replace those that failed, and no other', () => {
    const older = numbered([4, 5, 7, 8, 9], [5, 9], 'A');
    expect(mayHaveFailures(older.answers)).toBe(true);
    expect(isFailed(older.answers, 0)).toBe(true);
    expect(isFailed(older.answers, 1)).toBe(false);
    // Also for records before, between and behind them: a chunk of a round spans several chunks of the source.
    const newer = numbered([1, 4, 5, 6, 8, 20], [4, 5, 6], 'B');
    const standing = overlay(older, newer);
    expect(statusesOf(standing, older.numbers)).toEqual([
      '4 B SUCCESSFUL',
      '5 A SUCCESSFUL',
      '7 A FAILED',
      '8 B FAILED',
      '9 A SUCCESSFUL',
    ]);
    expect(statusesOf(older.answers, older.numbers)[0]).toBe('4 A FAILED');
  });

  it('of other records change nothing', () => {
    const older = numbered([4, 5], [], 'A');
    for (const numbers of [[1, 2], [6], [3, 9]]) {
      const standing = overlay(older, numbered(numbers, numbers, 'B'));
      expect(statusesOf(standing, older.numbers)).toEqual(['4 A FAILED', '5 A FAILED']);
    }
  });

  it('are indistinct where they were, and no longer where the replaced ones were', () => {
    const older = numbered([1, 2, 3], [1], 'A');
    const newer = numbered([2, 3], [2, 3], 'B');
    const standing = overlay(
      { ...older, answers: { ...older.answers, indistinct: new Set([0, 1]) } },
      { ...newer, answers: { ...newer.answers, indistinct: new Set([1]) } },
    );
    expect([...standing.indistinct].sort()).toEqual([0, 2]);
  });
});
