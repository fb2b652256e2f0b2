/** Contract: a complete run whose output is held back, and the ways out of that. */
import { describe, expect, it } from 'vitest';
import { mergeChunk, withSampleRun } from '../helpers/checkpoint/advance-chunk.js';
import {
  allUnprocessed,
  samplePublication,
  sampleSegment,
  sampleWithheld,
} from '../helpers/checkpoint/samples.js';
import type { WithCheckpoint } from './checkpoint-contract.js';
import { expectRefused } from './refuses.js';

export function withheldContract(withCheckpoint: WithCheckpoint): void {
  const withRun = withSampleRun(withCheckpoint, 'downloaded');
  const opened = { state: 'open', withheld: null, publication: null, finishedAt: null };

  describe('a withheld run', () => {
    it('has its reason, its end and its answers at once, and no publication', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordWithheld('r1', sampleWithheld, 9, sampleSegment('r1-1', 'r1', 5));
        const withheld = { state: 'withheld', withheld: sampleWithheld, publication: null, finishedAt: 9 };
        expect(await checkpoint.run('r1')).toMatchObject(withheld);
        expect((await checkpoint.segments()).map(({ id }) => id)).toEqual(['r1-1']);
        expect(await checkpoint.publications('nightly')).toEqual([]);
      }));

    it('has ended: it is found by its source, and is not unfinished', () =>
      withRun(async (checkpoint) => {
        expect((await checkpoint.unfinishedRun('nightly'))?.id).toBe('r1');
        await checkpoint.recordWithheld('r1', sampleWithheld, 9);
        expect(await checkpoint.unfinishedRun('nightly')).toBeUndefined();
        expect((await checkpoint.latestRun('nightly'))?.id).toBe('r1');
        const done = await checkpoint.doneRuns('nightly', 'https://service.test', 'aa');
        expect(done.map(({ id }) => id)).toEqual(['r1']);
        await expectRefused(
          checkpoint,
          'r1',
          () => checkpoint.recordDone('r1', 10),
          () => checkpoint.recordUnpublished('r1'),
          () => checkpoint.recordSuperseded('r1', 10),
          () => checkpoint.recordAllCut('r1'),
        );
      }));

    it('is published like any other', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordWithheld('r1', sampleWithheld, 9);
        await checkpoint.recordPublishing('r1', samplePublication);
        const publishing = { state: 'publishing', withheld: null, publication: samplePublication };
        expect(await checkpoint.run('r1')).toMatchObject(publishing);
        await expectRefused(checkpoint, 'r1', () => checkpoint.recordWithheld('r1', sampleWithheld, 10));
        await checkpoint.recordDone('r1', 11);
        expect(await checkpoint.run('r1')).toMatchObject({ state: 'done', withheld: null, finishedAt: 11 });
        await expectRefused(checkpoint, 'r1', () => checkpoint.recordWithheld('r1', sampleWithheld, 12));
      }));

    it('is opened again, and may be withheld again with another reason and newer answers', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordWithheld('r1', sampleWithheld, 9, sampleSegment('r1-1', 'r1', 5));
        await checkpoint.recordReopened('r1');
        expect(await checkpoint.run('r1')).toMatchObject(opened);
        for (const tolerate of [0.1, 0.2]) {
          const withheld = { ...sampleWithheld, tolerate };
          await checkpoint.recordWithheld('r1', withheld, 10, sampleSegment(`r1-${tolerate}`, 'r1', 6));
          expect(await checkpoint.run('r1')).toMatchObject({ state: 'withheld', withheld });
        }
        expect((await checkpoint.segments()).map(({ id }) => id)).toEqual(['r1-0.2']);
      }));

    it('is open again when the service knows a lost folio, or a person binds one', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordUnprocessed('r1', 1, 'FOLIO_LOST');
        await mergeChunk(checkpoint, 'r1', 1, allUnprocessed, 100);
        await checkpoint.recordWithheld('r1', sampleWithheld, 9);
        await checkpoint.recordFound('r1', 1);
        expect(await checkpoint.run('r1')).toMatchObject(opened);
        expect(await checkpoint.lastStretch('r1')).toBeUndefined();
        await checkpoint.recordUnprocessed('r1', 1, 'FOLIO_LOST');
        await checkpoint.recordWithheld('r1', sampleWithheld, 10);
        await checkpoint.recordAdopted('r1', 1, { folio: 'seen', serviceRecords: 10, rehearsal: false }, 11);
        expect(await checkpoint.run('r1')).toMatchObject(opened);
      }));

    it('cannot be one that was superseded', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordSuperseded('r1', 9);
        await expectRefused(
          checkpoint,
          'r1',
          () => checkpoint.recordWithheld('r1', sampleWithheld, 10),
          () => checkpoint.recordWithheld('r2', sampleWithheld, 10),
        );
      }));
  });
}
