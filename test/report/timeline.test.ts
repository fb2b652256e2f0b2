import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ChunkTimes } from '../../src/checkpoint/checkpoint.js';
import { countTimeline, intervalsOf, phases } from '../../src/report/timeline.js';

const whole: ChunkTimes = {
  ...{
    number: 1,
    round: 0,
    records: 10,
    state: 'downloaded',
    attempt: 1,
    folio: 'f',
    counts: null,
    cause: null,
  },
  ...{ cutAt: 0, uploadAt: 10, submittedAt: 30, finishedAt: 60, downloadedAt: 100, mergedAt: 150 },
};

it('a chunk passes all phases', () => {
  expect(intervalsOf(whole, 999).map(({ phase, from, to }) => [phase, from, to])).toEqual([
    ['waiting', 0, 10],
    ['uploading', 10, 30],
    ['processing', 30, 60],
    ['downloading', 60, 100],
    ['merging', 100, 150],
  ]);
});

it('a chunk is in a phase until now, unless it is given up', () => {
  const open = {
    ...whole,
    state: 'submitted',
    finishedAt: null,
    downloadedAt: null,
    mergedAt: null,
  } as const;
  expect(intervalsOf(open, 99).at(-1)).toEqual({ phase: 'processing', from: 30, to: 99 });
  expect(intervalsOf({ ...open, state: 'unprocessed' }, 99).at(-1)).toMatchObject({ phase: 'uploading' });
  const ofRound = { ...whole, round: 1, mergedAt: null };
  expect(intervalsOf(ofRound, 999).at(-1)).toMatchObject({ phase: 'downloading', to: 100 });
});

it('a phase without its times is left out', () => {
  const older = { ...whole, cutAt: null, finishedAt: null };
  expect(intervalsOf(older, 999).map(({ phase }) => phase)).toEqual(['uploading', 'merging']);
});

it('bins hold all the time and all the records', () => {
  const steps = fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 6, maxLength: 6 });
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 20 }), fc.integer({ min: 1, max: 50 }), (chunks, count) => {
      const bins = { from: 0, to: 1000, count };
      const counter = countTimeline(bins);
      let time = 0;
      for (const unsorted of chunks) {
        const [cutAt, uploadAt, submittedAt, finishedAt, downloadedAt, mergedAt] = unsorted.toSorted(
          (a, b) => a - b,
        ) as [number, number, number, number, number, number];
        counter.add({ ...whole, cutAt, uploadAt, submittedAt, finishedAt, downloadedAt, mergedAt });
        time += mergedAt - cutAt;
      }
      const sum = (values: readonly number[]) => values.reduce((all, one) => all + one, 0);
      const counted = sum(phases.map((phase) => sum(counter.chunks[phase])));
      expect((counted * 1000) / count).toBeCloseTo(time, 6);
      for (const values of Object.values(counter.records)) expect(sum(values)).toBe(10 * chunks.length);
    }),
  );
});
