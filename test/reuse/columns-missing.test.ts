import { expect, it } from 'vitest';
import { columnsMissing } from '../../src/reuse/columns-missing.js';

const columnSets = [
  { columns: ['code', 'title'], records: 5 },
  { columns: ['code'], records: 7 },
];

it('counts the reused records that lack a column of the output', () => {
  expect(columnsMissing({ columnSets }, ['code', 'title'])).toEqual({ title: 7 });
  expect(columnsMissing({ columnSets }, ['score', 'title'])).toEqual({ score: 12, title: 7 });
  expect(columnsMissing({ columnSets }, ['code'])).toEqual({});
  expect(columnsMissing({ columnSets }, ['constructor'])).toEqual({ constructor: 12 });
});

it('finds nothing missing where nothing is reused', () => {
  expect(columnsMissing(null, ['code'])).toEqual({});
  expect(columnsMissing({ columnSets: [] }, ['code'])).toEqual({});
});
