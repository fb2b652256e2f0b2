/** Contract: the publication, whole or partial, and what opens a run again. */
import { describe, expect, it } from 'vitest';
import { CheckpointStateError } from '../../src/checkpoint/checkpoint-errors.js';
import { mergeChunk, withSampleRun } from '../helpers/checkpoint/advance-chunk.js';
import { allSuccessful, samplePublication, sampleRun } from '../helpers/checkpoint/samples.js';
import type { WithCheckpoint } from './checkpoint-contract.js';
import { expectRefused } from './refuses.js';

export function publicationContract(withCheckpoint: WithCheckpoint): void {
  const withRun = withSampleRun(withCheckpoint, 'downloaded');
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

    it('keeps how the last load of a run has ended', () =>
      withRun(async (checkpoint) => {
        expect(await checkpoint.lastLoad('r1')).toBeUndefined();
        const load = {
          publication: 1,
          into: 'postgres://host/db',
          table: 't',
          mode: 'merge',
          state: 'failed',
          why: 'it is down',
          code: 'LOAD_UNREACHABLE',
          base: null,
          written: 0,
          removed: 0,
          added: [],
          at: 7,
        } as const;
        await checkpoint.recordLoad('r1', load);
        expect(await checkpoint.lastLoad('r1')).toEqual(load);
        const loaded = { ...load, state: 'loaded', why: null, code: null, base: 1, added: ['a'] } as const;
        await checkpoint.recordLoad('r1', loaded);
        expect(await checkpoint.lastLoad('r1')).toEqual(loaded);
        await expectRefused(checkpoint, 'r1', () => checkpoint.recordLoad('none', load));
      }));

    it('keeps what is needed to go on with an upload to the output store, until it is forgotten', () =>
      withCheckpoint(async (checkpoint) => {
        expect(await checkpoint.outputUpload('s3://b/k')).toBeUndefined();
        await checkpoint.recordOutputUpload('s3://b/k', '{"uploadId":"1"}');
        await checkpoint.recordOutputUpload('s3://b/k', '{"uploadId":"2"}');
        await checkpoint.recordOutputUpload('s3://b/other', '{}');
        expect(await checkpoint.outputUpload('s3://b/k')).toBe('{"uploadId":"2"}');
        await checkpoint.recordOutputUpload('s3://b/k', null);
        expect(await checkpoint.outputUpload('s3://b/k')).toBeUndefined();
        expect(await checkpoint.outputUpload('s3://b/other')).toBe('{}');
      }));

    it('opens a publishing run again, and no chunk is merged', () =>
      withRun(async (checkpoint) => {
        await mergeChunk(checkpoint, 'r1', 1, allSuccessful, 100);
        await checkpoint.recordPublishing('r1', samplePublication);
        await checkpoint.recordUnpublished('r1');
        expect(await checkpoint.run('r1')).toMatchObject({ state: 'open', publication: null });
        expect(await checkpoint.lastStretch('r1')).toBeUndefined();
        await expect(checkpoint.recordUnpublished('r1')).rejects.toThrow(CheckpointStateError);
      }));

    it('publishes a done run again, which stays done until its output is written anew', () =>
      withRun(async (checkpoint) => {
        await mergeChunk(checkpoint, 'r1', 1, allSuccessful, 100);
        await checkpoint.recordPublishing('r1', samplePublication);
        await checkpoint.recordDone('r1', 9);
        await expect(checkpoint.recordUnpublished('r1')).rejects.toThrow(CheckpointStateError);
        await checkpoint.recordUnmerged('r1', 1);
        await mergeChunk(checkpoint, 'r1', 1, allSuccessful, 90);
        expect(await checkpoint.run('r1')).toMatchObject({ state: 'done', publication: samplePublication });
        await checkpoint.recordPublishing('r1', { ...samplePublication, sha256: 'anew' });
        expect((await checkpoint.run('r1'))?.state).toBe('publishing');
      }));

    it('opens a run again once a partial output is in its place, with all that is merged', () =>
      withRun(async (checkpoint) => {
        await mergeChunk(checkpoint, 'r1', 1, allSuccessful, 100);
        await checkpoint.recordPublishing('r1', partial);
        expect(await checkpoint.run('r1')).toMatchObject({ state: 'publishing', publication: partial });
        expect((await checkpoint.run('r1'))?.partial).toBeNull();
        await checkpoint.recordDone('r1', 9);
        expect(await checkpoint.run('r1')).toMatchObject({ ...reopened, partial: { ...partial, number: 1 } });
        expect(await checkpoint.lastStretch('r1')).toMatchObject({ lastRecord: 10, workEnd: 100 });
        expect((await checkpoint.unfinishedRun('nightly'))?.id).toBe('r1');
        expect(await checkpoint.doneRuns('nightly', 'https://service.test', 'aa')).toEqual([]);
        await expectRefused(checkpoint, 'r1', () => checkpoint.recordDone('r1', 9));
      }));

    it('opens a run again whose partial output was lost on the way, with all that is merged', () =>
      withRun(async (checkpoint) => {
        await mergeChunk(checkpoint, 'r1', 1, allSuccessful, 100);
        await checkpoint.recordPublishing('r1', partial);
        await checkpoint.recordUnpublished('r1');
        expect(await checkpoint.run('r1')).toMatchObject(reopened);
        expect((await checkpoint.lastStretch('r1'))?.lastRecord).toBe(10);
      }));

    it('takes the place of a partial output that was on its way', () =>
      withRun(async (checkpoint) => {
        await mergeChunk(checkpoint, 'r1', 1, allSuccessful, 100);
        await checkpoint.recordPublishing('r1', partial);
        await checkpoint.recordPublishing('r1', samplePublication);
        await checkpoint.recordDone('r1', 9);
        expect(await checkpoint.run('r1')).toMatchObject({ state: 'done', finishedAt: 9 });
      }));

    it('keeps the partial output that is in its place until the whole one is', () =>
      withRun(async (checkpoint) => {
        await mergeChunk(checkpoint, 'r1', 1, allSuccessful, 100);
        await checkpoint.recordPublishing('r1', partial);
        await checkpoint.recordDone('r1', 9);
        await checkpoint.recordPublishing('r1', samplePublication);
        expect((await checkpoint.run('r1'))?.partial).toMatchObject({ number: 1, partial: true });
        await checkpoint.recordDone('r1', 10);
        expect(await checkpoint.run('r1')).toMatchObject({ state: 'done', partial: null });
      }));

    it('reopens a done run without its publication, and no other', () =>
      withRun(async (checkpoint) => {
        const reopen = () => checkpoint.recordReopened('r1');
        await expectRefused(checkpoint, 'r1', reopen, () => checkpoint.recordReopened('r2'));
        await mergeChunk(checkpoint, 'r1', 1, allSuccessful, 100);
        await checkpoint.recordPublishing('r1', samplePublication);
        await expectRefused(checkpoint, 'r1', reopen);
        await checkpoint.recordDone('r1', 9);
        await reopen();
        expect(await checkpoint.run('r1')).toMatchObject(reopened);
        expect((await checkpoint.lastStretch('r1'))?.lastRecord).toBe(10);
        await expectRefused(checkpoint, 'r1', reopen);
        await checkpoint.recordSuperseded('r1', 10);
        await expectRefused(checkpoint, 'r1', reopen);
      }));

    it('has a number that increases within the pipeline and is never given twice', () =>
      withCheckpoint(async (checkpoint) => {
        for (const [id, pipeline] of [['r1'], ['r2'], ['r3', 'other']] as const) {
          await checkpoint.recordRun(sampleRun(id, pipeline && { pipeline }));
        }
        const publish = async (run: string, changes: object = {}) =>
          (await checkpoint.recordPublishing(run, { ...samplePublication, ...changes })).number;
        expect(await publish('r1', { partial: true })).toBe(1);
        await checkpoint.recordDone('r1', 9, 'stamp-1');
        expect(await publish('r1')).toBe(2);
        expect((await checkpoint.run('r1'))?.publication).toEqual({ ...samplePublication, number: 2 });
        await checkpoint.recordDone('r1', 9, 'stamp-2');
        expect(await publish('r2', { sha256: 'ee' })).toBe(3);
        await checkpoint.recordUnpublished('r2');
        expect(await publish('r2', { sha256: 'ee' })).toBe(4);
        await checkpoint.recordDone('r2', 9);
        expect(await publish('r1')).toBe(5);
        expect(await publish('r3')).toBe(1);
        const { path } = samplePublication.output;
        const file = (number: number, run: string, sha256: string, stamp: string | null) => {
          return { number, run, path, bytes: samplePublication.bytes, sha256, stamp, isSample: false };
        };
        expect(await checkpoint.publications('nightly')).toEqual([
          file(5, 'r1', 'ff', null),
          file(4, 'r2', 'ee', null),
          file(3, 'r2', 'ee', null),
          file(2, 'r1', 'ff', 'stamp-2'),
          file(1, 'r1', 'ff', 'stamp-1'),
        ]);
        expect(await checkpoint.publications('other')).toEqual([file(1, 'r3', 'ff', null)]);
        expect(await checkpoint.publications('unknown')).toEqual([]);
      }));

    it('has a number above the one that others have seen, such as before the state was restored', () =>
      withRun(async (checkpoint) => {
        const publish = async (sha256: string, above?: number) =>
          (await checkpoint.recordPublishing('r1', { ...samplePublication, sha256 }, undefined, above))
            .number;
        expect(await publish('aa', 4)).toBe(5);
        expect(await publish('aa', 9)).toBe(5);
        expect(await publish('bb', 2)).toBe(6);
        expect((await checkpoint.publications('nightly')).map(({ number }) => number)).toEqual([6, 5]);
      }));

    it('that is committed again on its way keeps its number, and another file has its own', () =>
      withRun(async (checkpoint) => {
        const publish = async (changes: object = {}) =>
          (await checkpoint.recordPublishing('r1', { ...samplePublication, ...changes })).number;
        expect(await publish()).toBe(1);
        expect(await publish()).toBe(1);
        expect(await publish({ sha256: 'ee' })).toBe(2);
        expect(await publish({ sha256: 'ee', partial: true })).toBe(3);
        expect(await checkpoint.publications('nightly')).toHaveLength(3);
      }));

    it('brings values that the run is held to when it is open again', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordPublishing('r1', samplePublication, { 'output.path': '"/a.csv"' });
        await checkpoint.recordPublishing('r1', samplePublication, { 'output.path': '"/b.csv"' });
        await checkpoint.recordPublishing('r1', samplePublication);
        expect((await checkpoint.run('r1'))?.frozen).toEqual({
          'chunks.maxRecords': '10',
          'output.path': '"/b.csv"',
        });
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
