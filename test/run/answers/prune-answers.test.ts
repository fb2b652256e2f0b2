/** Which ages a prune that nobody has asked for goes by. */
import { expect, it } from 'vitest';
import { agesOf } from '../../../src/run/answers/prune-answers.js';
import { sampleChoice } from '../../helpers/checkpoint/samples.js';

const reuse = { maxAge: 1_000, failedAge: 0, epoch: '', maxMiss: 0.5 };
const begunWith = (maxAge: number, failedAge: number, prunedAt: number | null = null) => ({
  choice: { ...sampleChoice, maxAge, failedAge },
  prunedAt,
});

it('are the longest of the config and of the retained runs, so that a value for one run removes nothing', () => {
  const runs = [begunWith(9_000, 10), begunWith(500, 700), { choice: null, prunedAt: null }];
  expect(agesOf(reuse, runs)).toEqual({ ...reuse, maxAge: 9_000, failedAge: 700 });
  expect(agesOf(reuse, [])).toEqual(reuse);
});

it('leave out runs without results, and are none where nothing is reused', () => {
  expect(agesOf(reuse, [begunWith(9_000, 10, 5)])).toEqual(reuse);
  expect(agesOf({ ...reuse, maxAge: 0 }, [begunWith(9_000, 10)])).toBeUndefined();
});
