/** Contract: a folio that a person found for an ambiguous upload, or that the service knows again. */
import { describe, expect, it } from 'vitest';
import { CheckpointStateError } from '../../src/checkpoint/checkpoint-errors.js';
import {
  addAs,
  addChunk,
  advanceChunk,
  beginUpload,
  mergeChunk,
  withSampleRun,
} from '../helpers/checkpoint/advance-chunk.js';
import {
  allSuccessful,
  allUnprocessed,
  sampleChunk,
  sampleHalves,
  samplePicked,
  samplePublication,
} from '../helpers/checkpoint/samples.js';
import type { WithCheckpoint } from './checkpoint-contract.js';
import { expectRefused } from './refuses.js';

export function adoptionContract(withCheckpoint: WithCheckpoint): void {
  const withRun = withSampleRun(withCheckpoint);

  describe('an adopted folio', () => {
    const found = { folio: 'seen', serviceRecords: 9, rehearsal: false };

    it('is the answer to the newest ambiguous attempt', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'ambiguous');
        await beginUpload(checkpoint, 'r1', 1);
        await checkpoint.recordAmbiguous('r1', 1, 3, 'no-reply');
        await beginUpload(checkpoint, 'r1', 1);
        await checkpoint.recordDropped('r1', 1, 4);
        expect(await checkpoint.uploadOf('https://service.test', 'seen')).toBeUndefined();
        await checkpoint.recordAdopted('r1', 1, found, 9);
        const chunk = await checkpoint.chunk('r1', 1);
        expect(chunk).toMatchObject({ state: 'submitted', folio: 'seen', submittedAt: 9, attempt: 3 });
        const [first, second, third] = await checkpoint.uploads('r1', 0, 10);
        expect(first).toMatchObject({ state: 'ambiguous', folio: null });
        expect(second).toMatchObject({
          state: 'accepted',
          doubt: null,
          local: false,
          folio: 'seen',
          serviceRecords: 9,
          endedAt: 9,
        });
        expect(third).toMatchObject({ state: 'dropped', folio: null });
        expect(await checkpoint.uploadOf('https://service.test', 'seen')).toEqual(second);
        expect(await checkpoint.uploadOf('https://elsewhere.test', 'seen')).toBeUndefined();
        expect((await checkpoint.run('r1'))?.rehearsal).toBe(false);
      }));

    it('is the answer to the attempt that is named, if that is ambiguous', () =>
      withRun(async (checkpoint) => {
        for (const chunk of [1, 2]) {
          await addChunk(checkpoint, 'r1', chunk, 'ambiguous');
          await beginUpload(checkpoint, 'r1', chunk);
          await checkpoint.recordDropped('r1', chunk, 3);
          await beginUpload(checkpoint, 'r1', chunk);
          await checkpoint.recordAmbiguous('r1', chunk, 4, 'no-reply');
        }
        await checkpoint.recordAdopted('r1', 1, { ...found, attempt: 1 }, 9);
        await checkpoint.recordAdopted('r1', 2, { ...found, folio: 'other', attempt: 2 }, 9);
        const statesOf = async (chunk: number) =>
          (await checkpoint.attempts('r1', chunk)).map(({ state }) => state);
        expect(await statesOf(1)).toEqual(['accepted', 'dropped', 'ambiguous']);
        expect(await statesOf(2)).toEqual(['ambiguous', 'dropped', 'accepted']);
      }));

    it('is looked at after the folio of an earlier attempt, where the service counted wrongly for both', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'ambiguous');
        await beginUpload(checkpoint, 'r1', 1);
        await checkpoint.recordAmbiguous('r1', 1, 3, 'no-reply');
        await checkpoint.recordAdopted('r1', 1, { ...found, attempt: 2, rehearsal: false }, 9);
        await checkpoint.recordUnprocessed('r1', 1, 'FOLIO_LOST');
        await checkpoint.recordAdopted('r1', 1, { ...found, folio: 'other', rehearsal: true }, 9);
        expect(await checkpoint.misreadUpload('r1')).toMatchObject({ attempt: 1, folio: 'other' });
      }));

    it('opens a published run again, and takes its chunk and those after it out of the work file', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'downloaded');
        await addChunk(checkpoint, 'r1', 2, 'ambiguous');
        await addChunk(checkpoint, 'r1', 3, 'downloaded');
        await checkpoint.recordUnprocessed('r1', 2, 'AMBIGUOUS_HELD');
        await checkpoint.recordColumns('r1', ['code'], true);
        await mergeChunk(checkpoint, 'r1', 1, allSuccessful, 100);
        await mergeChunk(checkpoint, 'r1', 2, allUnprocessed, 200);
        await mergeChunk(checkpoint, 'r1', 3, allSuccessful, 300);
        await checkpoint.recordPublishing('r1', samplePublication);
        await expect(checkpoint.recordAdopted('r1', 2, found, 9)).rejects.toThrow(CheckpointStateError);
        await checkpoint.recordDone('r1', 8);
        await checkpoint.recordAdopted('r1', 2, { ...found, rehearsal: true }, 9);
        expect(await checkpoint.run('r1')).toMatchObject({
          state: 'open',
          publication: null,
          finishedAt: null,
          rehearsal: true,
        });
        expect(await checkpoint.chunk('r1', 2)).toMatchObject({
          state: 'submitted',
          cause: null,
        });
        expect(await checkpoint.lastStretch('r1')).toMatchObject({ lastRecord: 10, workEnd: 100 });
      }));

    it.each([
      'cut',
      'uploading',
      'submitted',
      'finished',
      'downloaded',
      'unprocessed',
      'refused',
      'split',
    ] as const)('is refused by a chunk that is %s', (state) =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, state);
        const before = await checkpoint.chunk('r1', 1);
        await expect(checkpoint.recordAdopted('r1', 1, found, 9)).rejects.toThrow(CheckpointStateError);
        await expect(checkpoint.recordAdopted('r1', 2, found, 9)).rejects.toThrow(CheckpointStateError);
        expect(await checkpoint.chunk('r1', 1)).toEqual(before);
      }),
    );

    it('is refused by a run that was superseded', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'ambiguous');
        await checkpoint.recordSuperseded('r1', 9);
        await expect(checkpoint.recordAdopted('r1', 1, found, 9)).rejects.toThrow(CheckpointStateError);
      }));

    it('keeps chunks before it in the source merged, in whatever order they are numbered', () =>
      withRun(async (checkpoint) => {
        const records = { firstRecord: 1, lastRecord: 20, records: 20 };
        await addAs(checkpoint, 'r1', sampleChunk(1, records), 'cut');
        await addAs(checkpoint, 'r1', sampleChunk(3), 'downloaded');
        await checkpoint.recordSplit('r1', 1, sampleHalves(records));
        // In the order of the source: 3, 4, 2.
        await advanceChunk(checkpoint, 'r1', 3, 'downloaded');
        await advanceChunk(checkpoint, 'r1', 4, 'ambiguous');
        await checkpoint.recordUnprocessed('r1', 4, 'AMBIGUOUS_HELD');
        await checkpoint.recordColumns('r1', ['code'], true);
        await mergeChunk(checkpoint, 'r1', 3, allSuccessful, 100);
        await mergeChunk(checkpoint, 'r1', 4, allUnprocessed, 200);
        await mergeChunk(checkpoint, 'r1', 2, allSuccessful, 300);
        await checkpoint.recordAdopted('r1', 4, found, 9);
        expect((await checkpoint.lastStretch('r1'))?.lastRecord).toBe(10);
        expect((await checkpoint.tally('r1')).merged).toEqual({ chunks: 1, records: 10 });
      }));

    it('takes all chunks out of the work file while the run has no columns', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'unprocessed');
        await addChunk(checkpoint, 'r1', 2, 'ambiguous');
        await mergeChunk(checkpoint, 'r1', 1, allUnprocessed, 100);
        await checkpoint.recordAdopted('r1', 2, found, 9);
        expect(await checkpoint.lastStretch('r1')).toBeUndefined();
      }));

    it('of a round takes back that round and those after it, and no chunk is merged', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'downloaded');
        await checkpoint.recordAllCut('r1');
        for (const round of [1, 2, 3]) {
          const chunk = await addAs(checkpoint, 'r1', samplePicked(round, round, [4, 6]), 'ambiguous');
          await checkpoint.recordUnprocessed('r1', chunk, 'AMBIGUOUS_HELD');
          await checkpoint.recordRoundClosed('r1', round);
        }
        await mergeChunk(checkpoint, 'r1', 1, allSuccessful, 100);
        await checkpoint.recordPublishing('r1', samplePublication);
        await checkpoint.recordDone('r1', 8);
        await checkpoint.recordAdopted('r1', 3, found, 9);
        expect(await checkpoint.run('r1')).toMatchObject({ state: 'open', round: 1, publication: null });
        expect(await checkpoint.lastStretch('r1')).toBeUndefined();
        // Of a round behind the settled ones nothing is taken back.
        await checkpoint.recordAdopted('r1', 4, found, 9);
        expect((await checkpoint.run('r1'))?.round).toBe(1);
        await expectRefused(checkpoint, 'r1', () => checkpoint.recordRoundClosed('r1', 2));
      }));

    it('of a chunk that was lost may be its own or another one', () =>
      withRun(async (checkpoint) => {
        for (const [chunk, folio] of [
          [1, 'folio-1'],
          [2, 'seen'],
        ] as const) {
          await addChunk(checkpoint, 'r1', chunk, 'downloaded');
          await checkpoint.recordUnprocessed('r1', chunk, 'FOLIO_LOST');
          await checkpoint.recordAdopted('r1', chunk, { ...found, folio }, 9);
          expect(await checkpoint.chunk('r1', chunk)).toMatchObject({
            state: 'submitted',
            folio,
            cause: null,
            counts: null,
          });
        }
        const uploads = await checkpoint.uploads('r1', 0, 10);
        expect(uploads.map(({ state, folio }) => [state, folio])).toEqual([
          ['accepted', 'folio-1'],
          ['accepted', 'seen'],
        ]);
        // What another folio has given is not an answer of this one.
        expect(await checkpoint.parts('r1', 1)).toHaveLength(1);
        expect(await checkpoint.listedParts('r1', 2)).toEqual([]);
      }));

    it('of a chunk that a person gave up is bound again; by itself it is never found', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'submitted');
        await checkpoint.recordUnprocessed('r1', 1, 'FOLIO_ABANDONED');
        await expect(checkpoint.recordFound('r1', 1)).rejects.toThrow(CheckpointStateError);
        await checkpoint.recordAdopted('r1', 1, { ...found, folio: 'folio-1' }, 9);
        const chunk = await checkpoint.chunk('r1', 1);
        expect(chunk).toMatchObject({ state: 'submitted', folio: 'folio-1', cause: null });
      }));

    it('of a chunk that a person gave up although its answers were here gives all of them anew', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'downloaded');
        await checkpoint.recordUnprocessed('r1', 1, 'FOLIO_ABANDONED');
        await checkpoint.recordAdopted('r1', 1, { ...found, folio: 'folio-1' }, 9);
        expect(await checkpoint.parts('r1', 1)).toEqual([]);
      }));

    it('is paid for once: the spending stays the same', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'ambiguous');
        const before = await checkpoint.spending('nightly', 'r1', '2026-11-21');
        await checkpoint.recordAdopted('r1', 1, found, 9);
        expect(await checkpoint.spending('nightly', 'r1', '2026-11-21')).toEqual(before);
        expect((await checkpoint.tally('r1')).ambiguousRecords).toBe(0);
      }));
  });

  describe('a folio that was lost and is found', () => {
    it('opens a published run again, and takes its chunk and those after it out of the work file', () =>
      withRun(async (checkpoint) => {
        for (const chunk of [1, 2, 3]) await addChunk(checkpoint, 'r1', chunk, 'downloaded');
        await checkpoint.recordUnprocessed('r1', 2, 'FOLIO_LOST');
        await checkpoint.recordColumns('r1', ['code'], true);
        await mergeChunk(checkpoint, 'r1', 1, allSuccessful, 100);
        await mergeChunk(checkpoint, 'r1', 2, allUnprocessed, 200);
        await mergeChunk(checkpoint, 'r1', 3, allSuccessful, 300);
        await checkpoint.recordPublishing('r1', samplePublication);
        await expect(checkpoint.recordFound('r1', 2)).rejects.toThrow(CheckpointStateError);
        await checkpoint.recordDone('r1', 8);
        await checkpoint.recordFound('r1', 2);
        expect(await checkpoint.run('r1')).toMatchObject({
          state: 'open',
          publication: null,
          finishedAt: null,
        });
        expect(await checkpoint.chunk('r1', 2)).toMatchObject({
          state: 'submitted',
          folio: 'folio-2',
          submittedAt: 2,
          cause: null,
          counts: null,
        });
        expect(await checkpoint.parts('r1', 2)).toHaveLength(1);
        expect(await checkpoint.lastStretch('r1')).toMatchObject({ lastRecord: 10, workEnd: 100 });
      }));

    it('of a round takes back that round and those after it, and no chunk is merged', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'downloaded');
        await checkpoint.recordAllCut('r1');
        for (const round of [1, 2]) {
          const chunk = await addAs(checkpoint, 'r1', samplePicked(round, round, [4, 6]), 'submitted');
          await checkpoint.recordUnprocessed('r1', chunk, 'FOLIO_LOST');
          await checkpoint.recordRoundClosed('r1', round);
        }
        await mergeChunk(checkpoint, 'r1', 1, allSuccessful, 100);
        await checkpoint.recordFound('r1', 2);
        expect((await checkpoint.run('r1'))?.round).toBe(0);
        expect(await checkpoint.lastStretch('r1')).toBeUndefined();
      }));

    it('is refused by a chunk that was given up for another cause, and by a superseded run', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'ambiguous');
        await checkpoint.recordUnprocessed('r1', 1, 'AMBIGUOUS_HELD');
        await expectRefused(checkpoint, 'r1', () => checkpoint.recordFound('r1', 1));
        await addChunk(checkpoint, 'r1', 2, 'submitted');
        await checkpoint.recordUnprocessed('r1', 2, 'FOLIO_LOST');
        await checkpoint.recordSuperseded('r1', 9);
        await expectRefused(checkpoint, 'r1', () => checkpoint.recordFound('r1', 2));
      }));
  });
}
