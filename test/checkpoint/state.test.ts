import { expect, it } from 'vitest';
import { isUnfinished, type RunState } from '../../src/checkpoint/state.js';

it('a run that is open or being published is unfinished, and none of which nothing is known', () => {
  const states: (RunState | null)[] = ['open', 'publishing', 'done', 'withheld', 'superseded', null];
  expect(states.filter((state) => isUnfinished({ state }))).toEqual(['open', 'publishing']);
});
