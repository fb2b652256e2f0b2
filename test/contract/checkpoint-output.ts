/** Contract: columns, join, merged chunks and the publication. */
import { describe, expect, it } from 'vitest';
import { CheckpointStateError } from '../../src/checkpoint/checkpoint-state-error.js';
import { addChunk } from '../helpers/advance-chunk.js';
import { allSuccessful, samplePublication, sampleRun } from '../helpers/checkpoint-samples.js';
import type { WithCheckpoint } from './checkpoint-contract.js';

export function outputContract(withCheckpoint: WithCheckpoint): void {
  const withRun: WithCheckpoint = (use) =>
    withCheckpoint(async (checkpoint) => {
      await checkpoint.recordRun(sampleRun('r1'));
      await addChunk(checkpoint, 'r1', 1, 'downloaded');
      await addChunk(checkpoint, 'r1', 2, 'unprocessed');
      await addChunk(checkpoint, 'r1', 3, 'finished');
      await use(checkpoint);
    });
  const allUnprocessed = { successful: 0, failed: 0, unprocessed: 10, indistinct: 0 };

  describe('columns and join', () => {
    it('keeps learned columns for the pipeline on this service, others for the run alone', () =>
      withRun(async (checkpoint) => {
        const known = (service: string) => checkpoint.knownColumns('nightly', service);
        await checkpoint.recordColumns('r1', ['code'], false);
        expect((await checkpoint.run('r1'))?.columns).toEqual(['code']);
        expect(await known('https://service.test')).toBeUndefined();
        await checkpoint.recordColumns('r1', ['code', 'title'], true);
        expect((await checkpoint.run('r1'))?.columns).toEqual(['code', 'title']);
        expect(await known('https://service.test')).toEqual(['code', 'title']);
        expect(await known('https://elsewhere.test')).toBeUndefined();
        expect(await checkpoint.knownColumns('other', 'https://service.test')).toBeUndefined();
      }));

    it('refuses other columns once a chunk is merged under the old ones', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordColumns('r1', ['code'], true);
        await checkpoint.recordMerged('r1', 1, allSuccessful, 100);
        await checkpoint.recordColumns('r1', ['code'], true);
        const other = checkpoint.recordColumns('r1', ['title'], true);
        await expect(other).rejects.toThrow(CheckpointStateError);
        expect(await checkpoint.knownColumns('nightly', 'https://service.test')).toEqual(['code']);
        await checkpoint.recordUnmerged('r1', 1);
        await checkpoint.recordColumns('r1', ['title'], true);
        expect(await checkpoint.knownColumns('nightly', 'https://service.test')).toEqual(['title']);
      }));

    it('fixes one way to join', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordJoin('r1', { by: 'key', column: 'record_id' });
        await checkpoint.recordJoin('r1', { column: 'record_id', by: 'key' });
        expect((await checkpoint.run('r1'))?.join).toEqual({ by: 'key', column: 'record_id' });
        const weaker = checkpoint.recordJoin('r1', { by: 'echo', columns: ['name'] });
        await expect(weaker).rejects.toThrow(CheckpointStateError);
      }));
  });

  describe('merge', () => {
    it('merges chunks in order, each once', () =>
      withRun(async (checkpoint) => {
        const refused = (chunk: number) =>
          expect(checkpoint.recordMerged('r1', chunk, allUnprocessed, 200)).rejects.toThrow(
            CheckpointStateError,
          );
        expect(await checkpoint.lastMerged('r1')).toBeUndefined();
        await refused(2);
        await checkpoint.recordMerged('r1', 1, { ...allSuccessful, indistinct: 2 }, 100);
        await refused(1);
        await checkpoint.recordMerged('r1', 2, allUnprocessed, 200);
        await refused(3);
        await refused(4);
        expect(await checkpoint.lastMerged('r1')).toMatchObject({
          number: 2,
          mergedEnd: 200,
          merged: allUnprocessed,
        });
        const tally = await checkpoint.tally('r1');
        expect(tally.merged).toEqual({ chunks: 2, records: 20 });
        expect(tally.counts).toEqual({ successful: 10, failed: 0, unprocessed: 10, indistinct: 2 });
      }));

    it('refuses counts that do not add up to the records of the chunk', () =>
      withRun(async (checkpoint) => {
        const short = checkpoint.recordMerged('r1', 1, { ...allSuccessful, successful: 9 }, 100);
        await expect(short).rejects.toThrow(CheckpointStateError);
        expect(await checkpoint.lastMerged('r1')).toBeUndefined();
      }));

    it('takes chunks out of the work file from a number on', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordMerged('r1', 1, allSuccessful, 100);
        await checkpoint.recordMerged('r1', 2, allUnprocessed, 200);
        await checkpoint.recordUnmerged('r1', 3);
        expect((await checkpoint.lastMerged('r1'))?.number).toBe(2);
        await checkpoint.recordUnmerged('r1', 2);
        expect((await checkpoint.lastMerged('r1'))?.number).toBe(1);
        expect(await checkpoint.chunk('r1', 2)).toMatchObject({ mergedEnd: null, merged: null });
        await checkpoint.recordMerged('r1', 2, allUnprocessed, 220);
        expect((await checkpoint.lastMerged('r1'))?.mergedEnd).toBe(220);
      }));
  });

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
        await checkpoint.recordMerged('r1', 1, allSuccessful, 100);
        await checkpoint.recordPublishing('r1', samplePublication);
        await checkpoint.recordUnpublished('r1');
        expect(await checkpoint.run('r1')).toMatchObject({ state: 'open', publication: null });
        expect(await checkpoint.lastMerged('r1')).toBeUndefined();
        await expect(checkpoint.recordUnpublished('r1')).rejects.toThrow(CheckpointStateError);
      }));

    it('publishes a done run again, which stays done until its output is written anew', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordMerged('r1', 1, allSuccessful, 100);
        await checkpoint.recordPublishing('r1', samplePublication);
        await checkpoint.recordDone('r1', 9);
        await expect(checkpoint.recordUnpublished('r1')).rejects.toThrow(CheckpointStateError);
        await checkpoint.recordUnmerged('r1', 1);
        await checkpoint.recordMerged('r1', 1, allSuccessful, 90);
        expect(await checkpoint.run('r1')).toMatchObject({ state: 'done', publication: samplePublication });
        await checkpoint.recordPublishing('r1', { ...samplePublication, sha256: 'anew' });
        expect((await checkpoint.run('r1'))?.state).toBe('publishing');
      }));
  });
}
