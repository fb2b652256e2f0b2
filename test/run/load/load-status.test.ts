/** What is remembered of the last load of a run, for those who look at it without asking the database. */
import { expect, it } from 'vitest';
import type { RecordedLoad } from '../../../src/checkpoint/checkpoint.js';
import { silentLogger } from '../../../src/logger.js';
import { recordLoad } from '../../../src/run/load/load-status.js';

const loaded: RecordedLoad = {
  state: 'loaded',
  publication: 1,
  into: 'postgres://localhost/warehouse',
  table: 'businesses',
  mode: 'replace',
  at: 5,
  why: null,
  code: null,
  base: null,
  written: 3,
  removed: 0,
  added: [],
};

/** The load that is remembered of a run whose last load was `loaded`, after another attempt. */
async function remembered(attempt: Partial<RecordedLoad>): Promise<RecordedLoad> {
  let last = loaded;
  const checkpoint = {
    lastLoad: async () => last,
    recordLoad: async (_: string, load: RecordedLoad) => {
      last = load;
    },
  };
  await recordLoad(checkpoint, 'run', { ...loaded, at: 9, ...attempt }, silentLogger);
  return last;
}

it.each([{ state: 'failed' as const }, { state: 'already' as const }, { state: 'left' as const }])(
  'a publication that is loaded stays so after an attempt that %o',
  async (attempt) => expect(await remembered(attempt)).toBe(loaded),
);

it.each<[string, Partial<RecordedLoad>]>([
  ['of the same publication, which was loaded once more', {}],
  ['of a later publication of the run', { state: 'failed', publication: 2 }],
  ['into another table', { state: 'failed', table: 'others' }],
  ['into another database', { state: 'failed', into: 'postgres://localhost/other' }],
])('an attempt %s is recorded', async (_, attempt) => {
  expect(await remembered(attempt)).toEqual({ ...loaded, at: 9, ...attempt });
});
