/** Contract: what reports read: the nights of a pipeline, when chunks passed their steps, and why records failed. */
import { describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../src/checkpoint/checkpoint.js';
import { advanceChunk } from '../helpers/checkpoint/advance-chunk.js';
import {
  sampleChunk,
  sampleNight,
  samplePart,
  samplePicked,
  samplePublication,
  sampleRun,
} from '../helpers/checkpoint/samples.js';
import type { WithCheckpoint } from './checkpoint-contract.js';

const counts = { successful: 9, failed: 1 };

export function historyContract(withCheckpoint: WithCheckpoint): void {
  describe('history', () => {
    it('has the night of a publication once it is in place, newest first', () =>
      withCheckpoint(async (checkpoint) => {
        for (const id of ['r1', 'r2']) await checkpoint.recordRun(sampleRun(id));
        const publish = (run: string, ended: number) =>
          checkpoint.recordPublishing(run, {
            ...samplePublication,
            sha256: `${run}-${ended}`,
            night: { ...sampleNight, ended },
          });
        const night = (run: string, publication: number, ended: number) => ({
          ...sampleNight,
          ...{ run, publication, ended },
        });
        await publish('r1', 5);
        await publish('r1', 5);
        expect(await checkpoint.nights('nightly', 9)).toEqual([]);
        await checkpoint.recordDone('r1', 6);
        expect(await checkpoint.nights('nightly', 9)).toEqual([night('r1', 1, 5)]);
        const { night: _, ...partial } = { ...samplePublication, night: undefined, partial: true };
        await checkpoint.recordPublishing('r2', partial);
        await checkpoint.recordDone('r2', 7);
        await publish('r2', 8);
        await checkpoint.recordUnpublished('r2');
        await publish('r2', 9);
        await checkpoint.recordDone('r2', 9);
        await checkpoint.recordReopened('r1');
        const [newest, ...others] = await checkpoint.nights('nightly', 9);
        expect(newest).toMatchObject({ run: 'r2', ended: 9 });
        expect(others).toEqual([night('r1', 1, 5)]);
        expect(await checkpoint.nights('nightly', 1)).toEqual([newest]);
        expect(await checkpoint.nights('other', 9)).toEqual([]);
        expect(await checkpoint.nights('nightly', 9, newest!.publication - 1)).toEqual(others);
        expect(await checkpoint.nightOf('r1')).toEqual(others[0]);
        expect(await checkpoint.nightOf('r2')).toEqual(newest);
        expect(await checkpoint.nightOf('r3')).toBeUndefined();
      }));

    it('has when a chunk passed each step', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r1'));
        await checkpoint.recordCut('r1', sampleChunk(1), 10);
        await passSteps(checkpoint, 1);
        await checkpoint.recordCut('r1', sampleChunk(2));
        const nothing = { finishedAt: null, downloadedAt: null, mergedAt: null };
        const first = {
          ...{
            number: 1,
            round: 0,
            records: 10,
            state: 'downloaded',
            attempt: 2,
            folio: 'f',
            counts,
            cause: null,
          },
          ...{ cutAt: 10, uploadAt: 13, submittedAt: 14, finishedAt: 15, downloadedAt: 16, mergedAt: 17 },
        };
        const second = { number: 2, state: 'cut', counts: null, cutAt: null, uploadAt: null, ...nothing };
        expect(await checkpoint.chunkTimes('r1', 0, 9)).toEqual([first, expect.objectContaining(second)]);
        expect(await checkpoint.chunkTimes('r1', 1, 9)).toHaveLength(1);
        expect(await checkpoint.chunkTimes('r1', 0, 1)).toEqual([first]);
        await checkpoint.recordUnmerged('r1', 1);
        expect(await checkpoint.chunkTimes('r1', 0, 1)).toEqual([{ ...first, mergedAt: null }]);
      }));

    it('has no split chunks, and no time of merging for a round', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r1'));
        await checkpoint.recordCut('r1', sampleChunk(1));
        await passSteps(checkpoint, 1);
        await checkpoint.recordCut('r1', sampleChunk(2));
        await advanceChunk(checkpoint, 'r1', 2, 'split');
        await checkpoint.recordAllCut('r1');
        await checkpoint.recordCut('r1', samplePicked(3, 1, [2, 4]), 30);
        const times = await checkpoint.chunkTimes('r1', 1, 9);
        expect(times.map(({ number, round, cutAt, mergedAt }) => [number, round, cutAt, mergedAt])).toEqual([
          [3, 0, null, null],
          [4, 0, null, null],
          [5, 1, 30, null],
        ]);
      }));

    it('adds up why records have no prediction', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r1'));
        expect(await checkpoint.failureReasons('r1')).toEqual([]);
        for (const nth of [1, 2]) {
          await checkpoint.recordCut('r1', sampleChunk(nth));
          await passSteps(checkpoint, nth);
        }
        expect(await checkpoint.failureReasons('r1')).toEqual([
          { code: 'SERVICE_FAILED', reason: 'no such address', records: 2 },
          { code: 'SERVICE_FAILED', reason: null, records: 4 },
        ]);
        await checkpoint.recordUnmerged('r1', 11);
        expect((await checkpoint.failureReasons('r1')).map(({ records }) => records)).toEqual([1, 2]);
      }));
  });
}

/** A dropped attempt, an accepted one, and all steps to the work file. */
async function passSteps(checkpoint: Checkpoint, chunk: number): Promise<void> {
  const name = { before: 'a-', after: '.csv' };
  const budget = { day: '2026-11-21', perRun: null, perDay: null, perMonth: null };
  await checkpoint.recordIntent('r1', chunk, name, 11, budget);
  await checkpoint.recordDropped('r1', chunk, 12);
  await checkpoint.recordIntent('r1', chunk, name, 13, budget);
  await checkpoint.recordAccepted('r1', chunk, { folio: 'f', serviceRecords: 10, rehearsal: false }, 14);
  await checkpoint.recordFinished('r1', chunk, counts, [{ fileStatus: 'SUCCESSFUL', part: 0 }], 15);
  await checkpoint.recordParts('r1', chunk, [samplePart(0)]);
  await checkpoint.recordDownloaded('r1', chunk, 16);
  const { firstRecord, lastRecord, records, end } = (await checkpoint.chunk('r1', chunk))!;
  const rows = {
    ...{ ...counts, unprocessed: 0, indistinct: 0, skipped: 0, reused: { successful: 0, failed: 0 } },
    duplicates: { successful: 0, failed: 0, unprocessed: 0 },
  };
  const reasons = [
    { code: 'SERVICE_FAILED', reason: 'no such address', records: 1 },
    { code: 'SERVICE_FAILED', reason: null, records: 2 },
  ] as const;
  const stretch = {
    firstRecord,
    lastRecord,
    records,
    end,
    counts: rows,
    workEnd: chunk,
    sha256: 'f',
    reasons,
  };
  await checkpoint.recordMerged('r1', stretch, 17);
}
