/** Contract: runs and their source. */
import { describe, expect, it } from 'vitest';
import { CheckpointStateError } from '../../src/checkpoint/checkpoint-errors.js';
import {
  sampleChoice,
  samplePublication,
  sampleRun,
  sampleSource,
  sampleWithheld,
} from '../helpers/checkpoint/samples.js';
import type { WithCheckpoint } from './checkpoint-contract.js';
import { expectRefused } from './refuses.js';

export function runContract(withCheckpoint: WithCheckpoint): void {
  describe('runs', () => {
    it('returns a run as it was recorded, open and without results', () =>
      withCheckpoint(async (checkpoint) => {
        const run = sampleRun('r1', { label: 'Ωmega', canary: 5 });
        await checkpoint.recordRun(run);
        expect(await checkpoint.run('r1')).toEqual({
          ...run,
          state: 'open',
          chunks: null,
          columns: null,
          join: null,
          round: 0,
          rehearsal: false,
          publication: null,
          partial: null,
          withheld: null,
          confirmed: null,
          finishedAt: null,
          prunedAt: null,
        });
        expect(await checkpoint.run('r2')).toBeUndefined();
      }));

    it('refuses a second run of the same id', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r1'));
        await expect(checkpoint.recordRun(sampleRun('r1'))).rejects.toThrow(CheckpointStateError);
      }));

    it('lists runs, of one pipeline or of all, the last one added first, even if the clock was set back', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('b', { createdAt: 2 }));
        await checkpoint.recordRun(sampleRun('c', { createdAt: 1, pipeline: 'other' }));
        await checkpoint.recordRun(sampleRun('a', { createdAt: 1 }));
        const ids = async (pipeline?: string) => (await checkpoint.runs(pipeline)).map((run) => run.id);
        expect(await ids()).toEqual(['a', 'c', 'b']);
        expect(await ids('nightly')).toEqual(['a', 'b']);
        expect(await ids('unknown')).toEqual([]);
        expect((await checkpoint.latestRun('nightly'))?.id).toBe('a');
        expect((await checkpoint.unfinishedRun('nightly'))?.id).toBe('a');
      }));

    it('gives the heads of the runs of all pipelines, newest first', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('a', { choice: sampleChoice }));
        await checkpoint.recordRun(sampleRun('b', { pipeline: 'other' }));
        await checkpoint.recordSuperseded('b', 4);
        await checkpoint.recordPruned('b', 5);
        const head = { service: 'https://service.test', chunks: null, rehearsal: false };
        const [open, pruned] = [
          { state: 'open', prunedAt: null },
          { state: 'superseded', prunedAt: 5 },
        ];
        expect(await checkpoint.runHeads()).toEqual([
          { ...head, ...pruned, id: 'b', pipeline: 'other', hasChoice: false },
          { ...head, ...open, id: 'a', pipeline: 'nightly', hasChoice: true },
        ]);
      }));

    it('knows the longest ages of the choices of runs that keep their results, of all pipelines', () =>
      withCheckpoint(async (checkpoint) => {
        expect(await checkpoint.longestAges()).toEqual({ maxAge: 0, failedAge: 0 });
        const begin = (id: string, maxAge: number, failedAge: number, pipeline: string) =>
          checkpoint.recordRun(sampleRun(id, { pipeline, choice: { ...sampleChoice, maxAge, failedAge } }));
        await begin('a', 9_000, 10, 'nightly');
        await begin('b', 500, 700, 'other');
        await checkpoint.recordRun(sampleRun('c', { pipeline: 'third' }));
        await begin('d', 90_000, 7_000, 'other');
        await checkpoint.recordSuperseded('d', 4);
        expect(await checkpoint.longestAges()).toEqual({ maxAge: 90_000, failedAge: 7_000 });
        await checkpoint.recordPruned('d', 5);
        expect(await checkpoint.longestAges()).toEqual({ maxAge: 9_000, failedAge: 700 });
      }));

    it('finds the newest unfinished run, which is the last one as long as there is one', () =>
      withCheckpoint(async (checkpoint) => {
        for (const [index, id] of ['r1', 'r2', 'r3'].entries()) {
          await checkpoint.recordRun(sampleRun(id, { createdAt: index }));
        }
        await checkpoint.recordRun(sampleRun('r9', { createdAt: 9, pipeline: 'other' }));
        await checkpoint.recordSuperseded('r3', 4);
        await checkpoint.recordPublishing('r2', samplePublication);
        expect((await checkpoint.unfinishedRun('nightly'))?.id).toBe('r2');
        await checkpoint.recordDone('r2', 5);
        expect((await checkpoint.unfinishedRun('nightly'))?.id).toBe('r1');
        expect((await checkpoint.latestRun('nightly'))?.id).toBe('r1');
        expect(await checkpoint.unfinishedRun('unknown')).toBeUndefined();
        expect(await checkpoint.latestRun('unknown')).toBeUndefined();
      }));

    it('takes for the last run the one that was published or withheld last, not the one that began last', () =>
      withCheckpoint(async (checkpoint) => {
        const last = async () => (await checkpoint.latestRun('nightly'))?.id;
        const publish = async (id: string, at: number) => {
          await checkpoint.recordPublishing(id, { ...samplePublication, bytes: at });
          await checkpoint.recordDone(id, at);
        };
        await checkpoint.recordRun(sampleRun('a'));
        await checkpoint.recordWithheld('a', sampleWithheld, 4);
        expect(await last()).toBe('a');
        await publish('a', 5);
        await checkpoint.recordRun(sampleRun('b'));
        expect(await last()).toBe('b');
        await publish('b', 6);
        expect(await last()).toBe('b');
        // The source is back at what it was. The clock was set back, which does not matter.
        await publish('a', 3);
        expect(await last()).toBe('a');
        await checkpoint.recordRun(sampleRun('c'));
        await checkpoint.recordWithheld('c', sampleWithheld, 8);
        expect(await last()).toBe('c');
        await publish('b', 9);
        expect(await last()).toBe('b');
        await checkpoint.recordReopened('a');
        expect(await last()).toBe('a');
        await checkpoint.recordSuperseded('a', 10);
        expect(await last()).toBe('b');
      }));

    it('finds samples by their limit alone', () =>
      withCheckpoint(async (checkpoint) => {
        const source = { ...sampleSource('stamp', 'ss'), limit: 10 };
        await checkpoint.recordRun(sampleRun('night', { createdAt: 1 }));
        await checkpoint.recordRun(sampleRun('sample', { createdAt: 2, source }));
        const found = async (limit?: number) => [
          (await checkpoint.unfinishedRun('nightly', limit))?.id,
          (await checkpoint.latestRun('nightly', limit))?.id,
        ];
        expect(await found()).toEqual(['night', 'night']);
        expect(await found(10)).toEqual(['sample', 'sample']);
        expect(await found(11)).toEqual([undefined, undefined]);
        await checkpoint.recordPublishing('sample', samplePublication);
        await checkpoint.recordDone('sample', 5);
        expect(await found(10)).toEqual([undefined, 'sample']);
        expect(await found()).toEqual(['night', 'night']);
        expect(await checkpoint.publications('nightly')).toMatchObject([{ run: 'sample', isSample: true }]);
        expect((await checkpoint.run('sample'))?.source.limit).toBe(10);
      }));

    it('finds the done runs of a source on a service, newest first', () =>
      withCheckpoint(async (checkpoint) => {
        for (const [index, id] of ['r1', 'r2', 'r3', 'r4'].entries()) {
          const source = sampleSource('stamp', id === 'r4' ? 'cc' : 'aa');
          await checkpoint.recordRun(sampleRun(id, { createdAt: index, source }));
          if (id === 'r3') continue;
          await checkpoint.recordPublishing(id, samplePublication);
          await checkpoint.recordDone(id, 5);
        }
        const done = async (...of: Parameters<typeof checkpoint.doneRuns>) =>
          (await checkpoint.doneRuns(...of)).map(({ id }) => id);
        expect(await done('nightly', 'https://service.test', 'aa')).toEqual(['r2', 'r1']);
        expect(await done('nightly', 'https://service.test', 'bb')).toEqual([]);
        expect(await done('nightly', 'https://elsewhere.test', 'aa')).toEqual([]);
        expect(await done('other', 'https://service.test', 'aa')).toEqual([]);
      }));

    it('supersedes a run once, and never a done one', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r1'));
        await checkpoint.recordSuperseded('r1', 7);
        expect(await checkpoint.run('r1')).toMatchObject({ state: 'superseded', finishedAt: 7 });
        await expectRefused(checkpoint, 'r1', () => checkpoint.recordSuperseded('r1', 8));
        await checkpoint.recordRun(sampleRun('r2'));
        await checkpoint.recordPublishing('r2', samplePublication);
        await checkpoint.recordDone('r2', 5);
        await expectRefused(checkpoint, 'r2', () => checkpoint.recordSuperseded('r2', 8));
        await checkpoint.recordRun(sampleRun('r3'));
        await checkpoint.recordPublishing('r3', samplePublication);
        await checkpoint.recordSuperseded('r3', 9);
        expect((await checkpoint.run('r3'))?.state).toBe('superseded');
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
}
