/** Contract: paid searches, for single failed records and of no run. */
import { describe, expect, it } from 'vitest';
import type { Budget, Checkpoint } from '../../src/checkpoint/checkpoint.js';
import { CheckpointStateError } from '../../src/checkpoint/checkpoint-errors.js';
import { addChunk, withSampleRun } from '../helpers/checkpoint/advance-chunk.js';
import { sampleBudget, samplePublication, sampleRun } from '../helpers/checkpoint/samples.js';
import type { WithCheckpoint } from './checkpoint-contract.js';
import { expectRefused } from './refuses.js';

export function searchContract(withCheckpoint: WithCheckpoint): void {
  const withRun = withSampleRun(withCheckpoint);
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

    it('end only while their own run is open', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r2'));
        for (const run of ['r1', 'r2']) await begin(checkpoint, 1, 1, run);
        await checkpoint.recordSuperseded('r1', 9);
        await expectRefused(
          checkpoint,
          'r1',
          () => checkpoint.recordSearchEnd('r1', 1, { state: 'answered', values: null }),
          () => checkpoint.recordSearchEnd('r1', 1, { state: 'dropped' }),
        );
        await checkpoint.recordSearchEnd('r2', 1, { state: 'answered', values: null });
        expect(await all(checkpoint, 'r2')).toMatchObject([{ state: 'answered' }]);
      }));

    it('of no run are committed before they are sent, end once, and are listed by time and pipeline', () =>
      withCheckpoint(async (checkpoint) => {
        const search = (id: string, pipeline = 'nightly') => ({ id, pipeline, service: 's', startedAt: 7 });
        const begun = (id: string, pipeline?: string) =>
          checkpoint.recordSingleSearchIntent(search(id, pipeline), sampleBudget());
        const listed = async (pipeline: string | undefined, after = '', limit = 100) =>
          (await checkpoint.singleSearches(pipeline, after, limit)).map(({ id, state }) => `${id} ${state}`);
        await begun('c');
        await begun('a', 'other');
        await begun('b');
        const { day } = sampleBudget();
        const intent = { ...search('b'), state: 'intent', local: null, day };
        expect(await checkpoint.singleSearches('nightly', 'a', 1)).toEqual([intent]);
        await expect(begun('b')).rejects.toThrow(CheckpointStateError);
        await checkpoint.recordSingleSearchEnd('a', { state: 'answered', local: true });
        await checkpoint.recordSingleSearchEnd('b', { state: 'ambiguous' });
        await checkpoint.recordSingleSearchEnd('c', { state: 'dropped' });
        for (const id of ['a', 'b', 'c', 'd']) {
          const end = checkpoint.recordSingleSearchEnd(id, { state: 'dropped' });
          await expect(end).rejects.toThrow(CheckpointStateError);
        }
        expect(await listed(undefined)).toEqual(['a answered', 'b ambiguous', 'c dropped']);
        expect(await listed('nightly', 'b')).toEqual(['c dropped']);
        expect((await checkpoint.singleSearches('other', '', 1))[0]).toMatchObject({ local: true });
      }));

    it('of no run count for the day and the month of their pipeline, and perRun does not hold them', () =>
      withCheckpoint(async (checkpoint) => {
        const begun = (id: string, caps: Partial<Budget>, pipeline = 'nightly', service = 's') =>
          checkpoint.recordSingleSearchIntent({ id, pipeline, service, startedAt: 7 }, sampleBudget(caps));
        const spent = () => checkpoint.spending('nightly', null, sampleBudget().day);
        for (const id of ['a', 'b', 'c']) await begun(id, { perRun: 1, perDay: 3 });
        expect(await spent()).toEqual({ run: 0, day: 3, month: 3 });
        const over = { code: 'BUDGET_REACHED' };
        await expect(begun('d', { perDay: 3 })).rejects.toMatchObject(over);
        await expect(begun('d', { perMonth: 3 })).rejects.toMatchObject(over);
        await begun('e', { perDay: 3 }, 'other', 't');
        await checkpoint.recordSingleSearchEnd('a', { state: 'dropped' });
        await checkpoint.recordSingleSearchEnd('b', { state: 'ambiguous' });
        expect(await spent()).toEqual({ run: 0, day: 2, month: 2 });
        await begun('d', { perDay: 3 });
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
