/** Contract: runs, their source and the cutting of it. */
import { describe, expect, it } from 'vitest';
import { CheckpointStateError } from '../../src/checkpoint/checkpoint-state-error.js';
import { addChunk } from '../helpers/advance-chunk.js';
import { sampleChunk, samplePublication, sampleRun, sampleSource } from '../helpers/checkpoint-samples.js';
import type { WithCheckpoint } from './checkpoint-contract.js';

export function runContract(withCheckpoint: WithCheckpoint): void {
  describe('runs', () => {
    it('gives back a run as it was recorded, open and with nothing known', () =>
      withCheckpoint(async (checkpoint) => {
        const run = sampleRun('r1', { label: 'Ωmega' });
        await checkpoint.recordRun(run);
        expect(await checkpoint.run('r1')).toEqual({
          ...run,
          state: 'open',
          chunks: null,
          columns: null,
          join: null,
          rehearsal: false,
          publication: null,
          finishedAt: null,
        });
        expect(await checkpoint.run('r2')).toBeUndefined();
      }));

    it('refuses a second run of the same id', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r1'));
        await expect(checkpoint.recordRun(sampleRun('r1'))).rejects.toThrow(CheckpointStateError);
      }));

    it('lists runs newest first, of one pipeline or of all', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('b', { createdAt: 2 }));
        await checkpoint.recordRun(sampleRun('c', { createdAt: 1, pipeline: 'other' }));
        await checkpoint.recordRun(sampleRun('a', { createdAt: 2 }));
        const ids = async (pipeline?: string) => (await checkpoint.runs(pipeline)).map((run) => run.id);
        expect(await ids()).toEqual(['b', 'a', 'c']);
        expect(await ids('nightly')).toEqual(['b', 'a']);
        expect(await ids('unknown')).toEqual([]);
      }));

    it('finds the newest unfinished run, and the newest that is not superseded', () =>
      withCheckpoint(async (checkpoint) => {
        for (const [index, id] of ['r1', 'r2', 'r3'].entries()) {
          await checkpoint.recordRun(sampleRun(id, { createdAt: index }));
        }
        await checkpoint.recordRun(sampleRun('r9', { createdAt: 9, pipeline: 'other' }));
        await checkpoint.recordSuperseded('r3');
        await checkpoint.recordPublishing('r2', samplePublication);
        expect((await checkpoint.unfinishedRun('nightly'))?.id).toBe('r2');
        await checkpoint.recordDone('r2', 5);
        expect((await checkpoint.unfinishedRun('nightly'))?.id).toBe('r1');
        expect((await checkpoint.latestRun('nightly'))?.id).toBe('r2');
        expect(await checkpoint.unfinishedRun('unknown')).toBeUndefined();
        expect(await checkpoint.latestRun('unknown')).toBeUndefined();
      }));

    it('finds the newest done run of a source on a service', () =>
      withCheckpoint(async (checkpoint) => {
        for (const [index, id] of ['r1', 'r2', 'r3'].entries()) {
          await checkpoint.recordRun(sampleRun(id, { createdAt: index }));
          if (id === 'r3') continue;
          await checkpoint.recordPublishing(id, samplePublication);
          await checkpoint.recordDone(id, 5);
        }
        const done = (...of: Parameters<typeof checkpoint.doneRun>) => checkpoint.doneRun(...of);
        expect((await done('nightly', 'https://service.test', 'aa'))?.id).toBe('r2');
        expect(await done('nightly', 'https://service.test', 'bb')).toBeUndefined();
        expect(await done('nightly', 'https://elsewhere.test', 'aa')).toBeUndefined();
        expect(await done('other', 'https://service.test', 'aa')).toBeUndefined();
      }));

    it('supersedes a run once, and never a done one', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r1'));
        await checkpoint.recordSuperseded('r1');
        expect((await checkpoint.run('r1'))?.state).toBe('superseded');
        await expect(checkpoint.recordSuperseded('r1')).rejects.toThrow(CheckpointStateError);
        await checkpoint.recordRun(sampleRun('r2'));
        await checkpoint.recordPublishing('r2', samplePublication);
        await checkpoint.recordDone('r2', 5);
        await expect(checkpoint.recordSuperseded('r2')).rejects.toThrow(CheckpointStateError);
      }));

    it('takes the same content under another stamp, and no other content', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r1'));
        await checkpoint.recordSourceStamp('r1', sampleSource('stamp-2'));
        expect((await checkpoint.run('r1'))?.source).toEqual(sampleSource('stamp-2'));
        const other = sampleSource('stamp-3', 'bb');
        await expect(checkpoint.recordSourceStamp('r1', other)).rejects.toThrow(CheckpointStateError);
        expect((await checkpoint.run('r1'))?.source).toEqual(sampleSource('stamp-2'));
      }));
  });

  describe('cutting', () => {
    it('gives back a chunk as it was cut, with nothing known', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r1'));
        await checkpoint.recordCut('r1', sampleChunk(1));
        expect(await checkpoint.chunk('r1', 1)).toEqual({
          ...sampleChunk(1),
          state: 'cut',
          attempt: 0,
          folio: null,
          submittedAt: null,
          counts: null,
          cause: null,
          mergedEnd: null,
          merged: null,
        });
        expect(await checkpoint.chunk('r1', 2)).toBeUndefined();
      }));

    it('takes chunks only in order, and only of an open run', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r1'));
        await expect(checkpoint.recordCut('r2', sampleChunk(1))).rejects.toThrow(CheckpointStateError);
        await expect(checkpoint.recordCut('r1', sampleChunk(2))).rejects.toThrow(CheckpointStateError);
        expect(await checkpoint.lastChunk('r1')).toBeUndefined();
        await checkpoint.recordCut('r1', sampleChunk(1));
        await expect(checkpoint.recordCut('r1', sampleChunk(1))).rejects.toThrow(CheckpointStateError);
        await checkpoint.recordCut('r1', sampleChunk(2));
        expect((await checkpoint.lastChunk('r1'))?.number).toBe(2);
        await checkpoint.recordSuperseded('r1');
        await expect(checkpoint.recordCut('r1', sampleChunk(3))).rejects.toThrow(CheckpointStateError);
      }));

    it('fixes the number of chunks, which must be the number cut', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r1'));
        await checkpoint.recordCut('r1', sampleChunk(1));
        await expect(checkpoint.recordAllCut('r1', 2)).rejects.toThrow(CheckpointStateError);
        await checkpoint.recordAllCut('r1', 1);
        await checkpoint.recordAllCut('r1', 1);
        expect((await checkpoint.run('r1'))?.chunks).toBe(1);
        await expect(checkpoint.recordCut('r1', sampleChunk(2))).rejects.toThrow(CheckpointStateError);
      }));

    it('lists chunks of some states in pages, by number', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r1'));
        const states = ['cut', 'submitted', 'cut', 'ambiguous', 'cut', 'submitted'] as const;
        for (const [index, state] of states.entries()) await addChunk(checkpoint, 'r1', index + 1, state);
        const numbers = async (...args: Parameters<typeof checkpoint.chunksIn>) =>
          (await checkpoint.chunksIn(...args)).map((chunk) => chunk.number);
        expect(await numbers('r1', ['submitted', 'cut'], 0, 10)).toEqual([1, 2, 3, 5, 6]);
        expect(await numbers('r1', ['submitted', 'cut'], 1, 2)).toEqual([2, 3]);
        expect(await numbers('r1', ['cut', 'cut'], 3, 10)).toEqual([5]);
        expect(await numbers('r1', [], 0, 10)).toEqual([]);
        expect(await numbers('r2', ['cut'], 0, 10)).toEqual([]);
      }));
  });
}
