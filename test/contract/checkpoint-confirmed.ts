/** Contract: a complete run whose rows went to a sink of the embedding program, and the ways on from that. */
import { describe, expect, it } from 'vitest';
import { mergeChunk, withSampleRun } from '../helpers/checkpoint/advance-chunk.js';
import {
  allUnprocessed,
  sampleConfirmed,
  samplePublication,
  sampleRun,
  sampleSegment,
  sampleWithheld,
} from '../helpers/checkpoint/samples.js';
import type { WithCheckpoint } from './checkpoint-contract.js';
import { expectRefused } from './refuses.js';

export function confirmedContract(withCheckpoint: WithCheckpoint): void {
  const withRun = withSampleRun(withCheckpoint, 'downloaded');
  const opened = { state: 'open', confirmed: null, publication: null, finishedAt: null };

  describe('a confirmed run', () => {
    it('is done at once with its answers, without a publication', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordConfirmed('r1', sampleConfirmed, 9, sampleSegment('r1-1', 'r1', 5));
        const confirmed = { state: 'done', confirmed: sampleConfirmed, publication: null, finishedAt: 9 };
        expect(await checkpoint.run('r1')).toMatchObject(confirmed);
        expect((await checkpoint.segments()).map(({ id }) => id)).toEqual(['r1-1']);
        expect(await checkpoint.publications('nightly')).toEqual([]);
        expect(await checkpoint.unfinishedRun('nightly')).toBeUndefined();
        const done = await checkpoint.doneRuns('nightly', 'https://service.test', 'aa');
        expect(done.map(({ id }) => id)).toEqual(['r1']);
        await expectRefused(
          checkpoint,
          'r1',
          () => checkpoint.recordConfirmed('r1', sampleConfirmed, 10),
          () => checkpoint.recordWithheld('r1', sampleWithheld, 10),
          () => checkpoint.recordDone('r1', 10),
          () => checkpoint.recordSuperseded('r1', 10),
        );
      }));

    it('is the last run after an earlier publication, and before a later one', () =>
      withCheckpoint(async (checkpoint) => {
        const publish = async (run: string, at: number) => {
          await checkpoint.recordRun(sampleRun(run));
          await checkpoint.recordPublishing(run, samplePublication);
          await checkpoint.recordDone(run, at);
        };
        await checkpoint.recordRun(sampleRun('a'));
        await checkpoint.recordConfirmed('a', sampleConfirmed, 1);
        expect((await checkpoint.latestRun('nightly'))?.id).toBe('a');
        await publish('b', 2);
        expect((await checkpoint.latestRun('nightly'))?.id).toBe('b');
        await checkpoint.recordRun(sampleRun('c'));
        await checkpoint.recordConfirmed('c', sampleConfirmed, 3);
        expect((await checkpoint.latestRun('nightly'))?.id).toBe('c');
      }));

    it('was withheld before, if the program took its rows all the same', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordWithheld('r1', sampleWithheld, 9);
        await checkpoint.recordConfirmed('r1', sampleConfirmed, 10);
        const confirmed = { state: 'done', withheld: null, confirmed: sampleConfirmed, finishedAt: 10 };
        expect(await checkpoint.run('r1')).toMatchObject(confirmed);
      }));

    it('is published like any other, and is then only published', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordConfirmed('r1', sampleConfirmed, 9);
        await checkpoint.recordPublishing('r1', samplePublication);
        await checkpoint.recordDone('r1', 11);
        const published = { state: 'done', confirmed: null, publication: samplePublication, finishedAt: 11 };
        expect(await checkpoint.run('r1')).toMatchObject(published);
        await expectRefused(checkpoint, 'r1', () => checkpoint.recordConfirmed('r1', sampleConfirmed, 12));
      }));

    it('is open again to send failed records, or when the service knows a lost folio', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordConfirmed('r1', sampleConfirmed, 9);
        await checkpoint.recordReopened('r1');
        expect(await checkpoint.run('r1')).toMatchObject(opened);
        await checkpoint.recordUnprocessed('r1', 1, 'FOLIO_LOST');
        await mergeChunk(checkpoint, 'r1', 1, allUnprocessed, 100);
        await checkpoint.recordConfirmed('r1', sampleConfirmed, 10);
        await checkpoint.recordFound('r1', 1);
        expect(await checkpoint.run('r1')).toMatchObject(opened);
      }));

    it('keeps its end when its results are removed', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordConfirmed('r1', sampleConfirmed, 9);
        await checkpoint.recordPruned('r1', 10);
        expect(await checkpoint.run('r1')).toMatchObject({ state: 'done', confirmed: sampleConfirmed });
      }));
  });
}
