/** Rule "Balance": a run whose rows do not add up to its source, or have other origins than were chosen, does not end. */
import { expect, it } from 'vitest';
import type { RowCounts, Run } from '../../../src/checkpoint/checkpoint.js';
import { noRows } from '../../../src/results/row-counts.js';
import { checkBalance } from '../../../src/stages/publish/check-balance.js';
import type { Choice } from '../../../src/types.js';
import { sampleChoice, sampleSource } from '../../helpers/checkpoint/samples.js';

const source = { ...sampleSource(), records: 32, rejected: 1, blank: 2 };
/** Of 9 records that are sent, 17 that take an earlier answer, 3 duplicates, and 2 that are blank. */
const merged: RowCounts = {
  ...noRows,
  successful: 24,
  failed: 5,
  unprocessed: 2,
  reused: { successful: 16, failed: 1 },
  duplicates: { successful: 1, failed: 1, unprocessed: 1 },
  skipped: 2,
};

/** Rows of a run that sends every record which is not blank. */
const whole: RowCounts = { ...noRows, successful: 26, failed: 3, unprocessed: 2, skipped: 2 };

const check = (rows: RowCounts, choice: Choice | null = sampleChoice) =>
  checkBalance({ id: 'r1', source, checkpoint: { run: async () => ({ choice }) as Run } }, rows);

it('adds up: each record once, by how it ended and by its origin', async () => {
  const { counts, origins } = await check(merged);
  expect(counts).toEqual({ read: 32, successful: 24, failed: 5, unprocessed: 2, rejected: 1 });
  expect(origins.sent).toEqual({ records: 9, successful: 7, failed: 1, unprocessed: 1 });
  await check(whole, null);
});

it.each<[string, Partial<RowCounts>]>([
  ['a row is missing', { successful: 25 }],
  ['a row is there twice', { unprocessed: 3 }],
  ['a blank record was sent', { skipped: 1 }],
  ['a record was left out as if it were blank', { skipped: 3 }],
])('is refused if %s', async (_, change) => {
  const refused = { code: 'RUN_UNBALANCED', exitCode: 6 };
  await expect(check({ ...whole, ...change }, null)).rejects.toMatchObject(refused);
});

it.each<Partial<Choice>>([
  { sent: 10 },
  { reused: { successful: 15, failed: 1 } },
  { reused: { successful: 16, failed: 2 } },
  { duplicates: 2 },
])('is refused if the output has other origins than %o', async (chosen) => {
  const refused = { code: 'RUN_UNBALANCED', message: expect.stringContaining('the output has 9, 17 and 3') };
  await expect(check(merged, { ...sampleChoice, ...chosen })).rejects.toMatchObject(refused);
});
