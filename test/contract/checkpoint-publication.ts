/** Contract: the publication, whole or partial, and what opens a run again. */
import { describe, expect, it } from 'vitest';
import { CheckpointStateError } from '../../src/checkpoint/checkpoint-state-error.js';
import { addChunk } from '../helpers/advance-chunk.js';
import { allSuccessful, samplePublication, sampleRun } from '../helpers/checkpoint-samples.js';
import type { WithCheckpoint } from './checkpoint-contract.js';
import { expectRefused } from './refuses.js';

export function publicationContract(withCheckpoint: WithCheckpoint): void {
  const withRun: WithCheckpoint = (use) =>
    withCheckpoint(async (checkpoint) => {
      await checkpoint.recordRun(sampleRun('r1'));
      await addChunk(checkpoint, 'r1', 1, 'downloaded');
      await use(checkpoint);
    });
  const partial = { ...samplePublication, partial: true, exitCode: 8 };
  const reopened = { state: 'open', publication: null, finishedAt: null };

  describe('publication', () => {
    it('goes from open over publishing to done', () =>
      withRun(async (checkpoint) => {
        await expect(checkpoint.recordDone('r1', 9)).rejects.toThrow(CheckpointStateError);
        await checkpoint.recordPublishing('r1', { ...samplePublication, sha256: 'old' });
        await checkpoint.recordPublishing('r1', samplePublication);
        const publishing = { state: 'publishing', publication: samplePublication, finishedAt: null };
        expect(await checkpoint.run('r1')).toMatchObject(publishing);
        await checkpoint.recordDone('r1', 9);
        const done = { state: 'done', publication: samplePublication, finishedAt: 9 };
        expect(await checkpoint.run('r1')).toMatchObject(done);
      }));

    it('opens a publishing run again with nothing merged', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordMerged('r1', 1, allSuccessful, 100, 'f00d');
        await checkpoint.recordPublishing('r1', samplePublication);
        await checkpoint.recordUnpublished('r1');
        expect(await checkpoint.run('r1')).toMatchObject({ state: 'open', publication: null });
        expect(await checkpoint.lastMerged('r1')).toBeUndefined();
        await expect(checkpoint.recordUnpublished('r1')).rejects.toThrow(CheckpointStateError);
      }));

    it('publishes a done run again, which stays done until its output is written anew', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordMerged('r1', 1, allSuccessful, 100, 'f00d');
        await checkpoint.recordPublishing('r1', samplePublication);
        await checkpoint.recordDone('r1', 9);
        await expect(checkpoint.recordUnpublished('r1')).rejects.toThrow(CheckpointStateError);
        await checkpoint.recordUnmerged('r1', 1);
        await checkpoint.recordMerged('r1', 1, allSuccessful, 90, 'f00d');
        expect(await checkpoint.run('r1')).toMatchObject({ state: 'done', publication: samplePublication });
        await checkpoint.recordPublishing('r1', { ...samplePublication, sha256: 'anew' });
        expect((await checkpoint.run('r1'))?.state).toBe('publishing');
      }));

    it('opens a run again once a partial output is in its place, with all that is merged', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordMerged('r1', 1, allSuccessful, 100, 'f00d');
        await checkpoint.recordPublishing('r1', partial);
        expect(await checkpoint.run('r1')).toMatchObject({ state: 'publishing', publication: partial });
        await checkpoint.recordDone('r1', 9);
        expect(await checkpoint.run('r1')).toMatchObject(reopened);
        expect(await checkpoint.lastMerged('r1')).toMatchObject({ number: 1, mergedEnd: 100 });
        expect((await checkpoint.unfinishedRun('nightly'))?.id).toBe('r1');
        expect(await checkpoint.doneRun('nightly', 'https://service.test', 'aa')).toBeUndefined();
        await expectRefused(checkpoint, 'r1', () => checkpoint.recordDone('r1', 9));
      }));

    it('opens a run again whose partial output was lost on the way, with all that is merged', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordMerged('r1', 1, allSuccessful, 100, 'f00d');
        await checkpoint.recordPublishing('r1', partial);
        await checkpoint.recordUnpublished('r1');
        expect(await checkpoint.run('r1')).toMatchObject(reopened);
        expect((await checkpoint.lastMerged('r1'))?.number).toBe(1);
      }));

    it('takes the place of a partial output that was on its way', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordMerged('r1', 1, allSuccessful, 100, 'f00d');
        await checkpoint.recordPublishing('r1', partial);
        await checkpoint.recordPublishing('r1', samplePublication);
        await checkpoint.recordDone('r1', 9);
        expect(await checkpoint.run('r1')).toMatchObject({ state: 'done', finishedAt: 9 });
      }));

    it('reopens a done run without its publication, and no other', () =>
      withRun(async (checkpoint) => {
        const reopen = () => checkpoint.recordReopened('r1');
        await expectRefused(checkpoint, 'r1', reopen, () => checkpoint.recordReopened('r2'));
        await checkpoint.recordMerged('r1', 1, allSuccessful, 100, 'f00d');
        await checkpoint.recordPublishing('r1', samplePublication);
        await expectRefused(checkpoint, 'r1', reopen);
        await checkpoint.recordDone('r1', 9);
        await reopen();
        expect(await checkpoint.run('r1')).toMatchObject(reopened);
        expect((await checkpoint.lastMerged('r1'))?.number).toBe(1);
        await expectRefused(checkpoint, 'r1', reopen);
        await checkpoint.recordSuperseded('r1', 10);
        await expectRefused(checkpoint, 'r1', reopen);
      }));

    it('is refused by a run that was superseded', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordSuperseded('r1', 9);
        await expectRefused(
          checkpoint,
          'r1',
          () => checkpoint.recordPublishing('r1', samplePublication),
          () => checkpoint.recordPublishing('r2', samplePublication),
          () => checkpoint.recordDone('r1', 9),
          () => checkpoint.recordUnpublished('r1'),
        );
      }));
  });
}
