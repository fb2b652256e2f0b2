/** Contract: paid searches for single failed records. */
import { describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../src/checkpoint/checkpoint.js';
import { addChunk } from '../helpers/checkpoint/advance-chunk.js';
import { sampleBudget, samplePublication, sampleRun } from '../helpers/checkpoint/samples.js';
import type { WithCheckpoint } from './checkpoint-contract.js';
import { expectRefused } from './refuses.js';

export function searchContract(withCheckpoint: WithCheckpoint): void {
  const withRun: WithCheckpoint = (use) =>
    withCheckpoint(async (checkpoint) => {
      await checkpoint.recordRun(sampleRun('r1'));
      await use(checkpoint);
    });
  const begin = (checkpoint: Checkpoint, record: number, at = 1, run = 'r1') =>
    checkpoint.recordSearchIntent(run, record, at, sampleBudget());
  const all = (checkpoint: Checkpoint, run = 'r1') => checkpoint.searches(run, 0, 100);

  describe('searches', () => {
    it('are committed before they are sent', () =>
      withRun(async (checkpoint) => {
        await begin(checkpoint, 4, 7);
        expect(await all(checkpoint)).toEqual([{ record: 4, state: 'intent', values: null, startedAt: 7 }]);
        expect(await all(checkpoint, 'r2')).toEqual([]);
        expect((await checkpoint.tally('r1')).searches).toEqual({ answered: 0, ambiguous: 0 });
      }));

    it.each([
      [{ state: 'answered', values: { code: '722511', 'größe "x"': '' } }],
      [{ state: 'answered', values: {} }],
      [{ state: 'answered', values: null }],
      [{ state: 'dropped' }],
      [{ state: 'ambiguous' }],
    ] as const)('end as %j', (end) =>
      withRun(async (checkpoint) => {
        await begin(checkpoint, 4, 7);
        await checkpoint.recordSearchEnd('r1', 4, end);
        expect(await all(checkpoint)).toEqual([{ record: 4, values: null, startedAt: 7, ...end }]);
        await expectRefused(
          checkpoint,
          'r1',
          () => checkpoint.recordSearchEnd('r1', 4, end),
          () => checkpoint.recordSearchEnd('r1', 5, end),
          () => checkpoint.recordSearchEnd('r2', 4, end),
        );
      }),
    );

    it('are asked again only when they were dropped', () =>
      withRun(async (checkpoint) => {
        for (const record of [1, 2, 3, 4]) await begin(checkpoint, record);
        await checkpoint.recordSearchEnd('r1', 2, { state: 'answered', values: null });
        await checkpoint.recordSearchEnd('r1', 3, { state: 'ambiguous' });
        await checkpoint.recordSearchEnd('r1', 4, { state: 'dropped' });
        await expectRefused(checkpoint, 'r1', ...[1, 2, 3].map((record) => () => begin(checkpoint, record)));
        await begin(checkpoint, 4, 9);
        const again = { record: 4, state: 'intent', values: null, startedAt: 9 };
        expect(await checkpoint.searches('r1', 3, 9)).toEqual([again]);
      }));

    it('belong to an open run', () =>
      withRun(async (checkpoint) => {
        await expectRefused(checkpoint, 'r1', () => begin(checkpoint, 1, 1, 'r2'));
        await checkpoint.recordPublishing('r1', samplePublication);
        await expectRefused(checkpoint, 'r1', () => begin(checkpoint, 1));
        await checkpoint.recordDone('r1', 5);
        await expectRefused(checkpoint, 'r1', () => begin(checkpoint, 1));
        await checkpoint.recordReopened('r1');
        await begin(checkpoint, 1);
        await checkpoint.recordSuperseded('r1', 9);
        await expectRefused(checkpoint, 'r1', () => begin(checkpoint, 2));
      }));

    it('are listed by record, in pages, in whatever state they are', () =>
      withRun(async (checkpoint) => {
        for (const record of [100, 9, 25, 1]) await begin(checkpoint, record);
        await checkpoint.recordSearchEnd('r1', 9, { state: 'dropped' });
        await checkpoint.recordSearchEnd('r1', 25, { state: 'ambiguous' });
        const records = async (after: number, limit: number) =>
          (await checkpoint.searches('r1', after, limit)).map(({ record }) => record);
        expect(await records(0, 9)).toEqual([1, 9, 25, 100]);
        expect(await records(1, 2)).toEqual([9, 25]);
        expect(await records(100, 2)).toEqual([]);
      }));

    it('with an intent that a dead process left are ambiguous, in this run only', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r2'));
        await begin(checkpoint, 1);
        await begin(checkpoint, 1, 1, 'r2');
        for (const record of [2, 3]) await begin(checkpoint, record);
        await checkpoint.recordSearchEnd('r1', 2, { state: 'dropped' });
        await checkpoint.recordSearchEnd('r1', 3, { state: 'answered', values: null });
        // Chunks alone are counted.
        await addChunk(checkpoint, 'r1', 1, 'uploading');
        expect(await checkpoint.recordInterrupted('r1')).toBe(1);
        const states = (await all(checkpoint)).map(({ state }) => state);
        expect(states).toEqual(['ambiguous', 'dropped', 'answered']);
        expect((await all(checkpoint, 'r2'))[0]?.state).toBe('intent');
        await expectRefused(checkpoint, 'r1', () => begin(checkpoint, 1));
      }));

    it('are tallied, the ambiguous ones as a record that may be paid for in vain', () =>
      withRun(async (checkpoint) => {
        for (const record of [1, 2, 3, 4]) await begin(checkpoint, record);
        await checkpoint.recordSearchEnd('r1', 1, { state: 'answered', values: null });
        await checkpoint.recordSearchEnd('r1', 2, { state: 'ambiguous' });
        await checkpoint.recordSearchEnd('r1', 3, { state: 'dropped' });
        await addChunk(checkpoint, 'r1', 1, 'ambiguous');
        const tally = await checkpoint.tally('r1');
        expect(tally.searches).toEqual({ answered: 1, ambiguous: 1 });
        expect(tally.ambiguousRecords).toBe(11);
      }));
  });
}
