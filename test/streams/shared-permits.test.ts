/** What a pipeline knows of the permits of others. Asking and waiting is tested with Postgres: `test/contract`. */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/streams/clock.js';
import {
  createSharedPermits,
  type PermitAnswer,
  type PermitTable,
} from '../../src/streams/shared-permits.js';

const answer: PermitAnswer = {
  granted: [],
  limit: 16,
  open: 2,
  admitted: null,
  others: 0,
  ahead: 0,
  patience: 1,
  own: 0,
  doubtful: 0,
  learns: { opened: false, ended: false },
};

it.each([
  ['as many as were counted when nobody else waits', 0, 2],
  ['all that may be open when others wait, because a free permit is taken at once', 3, 16],
])('open are %s', async (_, others, open) => {
  const table = {
    ask: async (granted) => ({ ...answer, granted, others }),
    listen: async () => undefined,
  } as Pick<PermitTable, 'ask' | 'listen'> as PermitTable;
  const permits = createSharedPermits(table, { clock: systemClock });
  expect(permits.shared?.()).toEqual({ open: 0, isAwaited: false });
  expect(await permits.acquire('run 1', new AbortController().signal)).toBe(true);
  expect(permits.shared?.()).toEqual({ open, isAwaited: others > 0 });
});
