/** What an open run has still to send, by the states of its chunks. */
import { expect, it } from 'vitest';
import type { Run } from '../../../src/checkpoint/checkpoint.js';
import { leftOf } from '../../../src/run/plan/plan-chunks.js';

const chunks = {
  ...{ cut: 1, uploading: 2, ambiguous: 4, submitted: 8, finished: 16 },
  ...{ downloaded: 32, unprocessed: 64, refused: 128, split: 0 },
};
const records = Object.fromEntries(Object.entries(chunks).map(([state, count]) => [state, 10 * count]));
const all = { count: 1_000, records: 10_000 };

it.each([
  ['resubmit', 255, 1 + 2 + 4],
  ['hold', 255, 1],
  ['resubmit', null, 1_000 - 8 - 16 - 32 - 64 - 128],
  ['hold', null, 1_000 - 2 - 4 - 8 - 16 - 32 - 64 - 128],
] as const)('under %s, with %j chunks in all', async (policy, cut, left) => {
  const reader = { tally: async () => ({ chunks, records }) } as unknown as Parameters<typeof leftOf>[0];
  const run = { id: 'R7', chunks: cut } as unknown as Run;
  const config = { ambiguous: { policy } } as Parameters<typeof leftOf>[1];
  expect(await leftOf(reader, config, run, all)).toEqual({ chunks: left, records: 10 * left, perhaps: 60 });
});

it('counts a split chunk as the two that replace it', async () => {
  // Two chunks were planned. The first was split, and both halves are answered; the second is not cut yet.
  const none = Object.fromEntries(Object.keys(chunks).map((state) => [state, 0]));
  const tally = {
    chunks: { ...none, split: 1, downloaded: 2 },
    records: { ...none, split: 10, downloaded: 10 },
  };
  const reader = { tally: async () => tally } as unknown as Parameters<typeof leftOf>[0];
  const run = { id: 'R7', chunks: null } as unknown as Run;
  const config = { ambiguous: { policy: 'resubmit' } } as Parameters<typeof leftOf>[1];
  expect(await leftOf(reader, config, run, { count: 2, records: 20 })).toMatchObject({
    chunks: 1,
    records: 10,
  });
});
