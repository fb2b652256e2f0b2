import { expect, it } from 'vitest';
import { fieldRuns } from '../../../src/csv/kernel/table-memory.js';

const comma = 0x2c;

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
  expect([...fieldRuns(fields, comma)]).toEqual(runs);
});

it('fields with another delimiter between them are copied one by one', () => {
  expect([...fieldRuns([0, 1], 0x3b)]).toEqual([0, 0, 1, 1]);
});
