import { expect, it } from 'vitest';
import type { RunState } from '../../src/checkpoint/state.js';
import { chunksInOrder, isUnfinished } from '../../src/checkpoint/walk-run.js';
import { addChunk } from '../helpers/checkpoint/advance-chunk.js';
import { sampleChunk, sampleHalves, samplePicked, sampleRun } from '../helpers/checkpoint/samples.js';
import { createMemoryCheckpoint } from '../helpers/memory/memory-checkpoint.js';

it('a round is walked in the order of the source, and what is split meanwhile is seen', async () => {
  const checkpoint = createMemoryCheckpoint();
  await checkpoint.recordRun(sampleRun('r1'));
  for (const nth of [1, 2, 3]) await addChunk(checkpoint, 'r1', nth, 'cut');
  await checkpoint.recordSplit('r1', 1, sampleHalves(sampleChunk(1)));
  await checkpoint.recordAllCut('r1');
  await checkpoint.recordCut('r1', samplePicked(1, 1, [4, 6]));

  const seen: number[] = [];
  for await (const { number } of chunksInOrder(checkpoint, 'r1')) {
    seen.push(number);
    if (seen.length === 2) await checkpoint.recordSplit('r1', 3, sampleHalves(sampleChunk(3)));
  }
  expect(seen).toEqual([4, 5, 2, 7, 8]);

  const numbersOf = async (...rest: [round?: number, afterRecord?: number]) => {
    const numbers: number[] = [];
    for await (const { number } of chunksInOrder(checkpoint, 'r1', ...rest)) numbers.push(number);
    return numbers;
  };
  expect(await numbersOf(1)).toEqual([6]);
  expect(await numbersOf(2)).toEqual([]);
  expect(await numbersOf(0, 10)).toEqual([2, 7, 8]);
});

it('a run that is open or being published is unfinished, and none of which nothing is known', () => {
  const states: (RunState | null)[] = ['open', 'publishing', 'done', 'withheld', 'superseded', null];
  expect(states.filter((state) => isUnfinished({ state }))).toEqual(['open', 'publishing']);
});
