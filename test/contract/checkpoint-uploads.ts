/** Contract: upload attempts, the ambiguous ones above all (docs/architecture.md#intent-first). */
import { describe, expect, it } from 'vitest';
import type { AcceptedReply } from '../../src/checkpoint/checkpoint.js';
import { CheckpointStateError } from '../../src/checkpoint/checkpoint-errors.js';
import { noRows } from '../../src/results/row-counts.js';
import type { Doubt } from '../../src/types.js';
import { addChunk, beginUpload, sampleReply, withSampleRun } from '../helpers/checkpoint/advance-chunk.js';
import { nothingTallied, sampleBudget, sampleRun } from '../helpers/checkpoint/samples.js';
import type { WithCheckpoint } from './checkpoint-contract.js';

export function uploadContract(withCheckpoint: WithCheckpoint): void {
  const withRun = withSampleRun(withCheckpoint);

  describe('uploads', () => {
    it('commits the intent with the number of the attempt and its file name', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'cut');
        const intent = await beginUpload(checkpoint, 'r1', 1, 7);
        expect(intent).toEqual({
          run: 'r1',
          chunk: 1,
          attempt: 1,
          fileName: 'r1-1-1.csv',
          records: 10,
          state: 'intent',
          doubt: null,
          folio: null,
          local: null,
          serviceRecords: null,
          startedAt: 7,
          endedAt: null,
        });
        expect(await checkpoint.uploads('r1', 0, 10)).toEqual([intent]);
        expect(await checkpoint.chunk('r1', 1)).toMatchObject({ state: 'uploading', attempt: 1 });
        // A cap that is reached is not the reason.
        for (const budget of [sampleBudget(), sampleBudget({ perRun: 10 })]) {
          for (const chunk of [1, 2]) {
            const again = beginUpload(checkpoint, 'r1', chunk, 8, budget);
            await expect(again).rejects.toThrow(CheckpointStateError);
          }
        }
        expect(await checkpoint.uploads('r1', 0, 10)).toHaveLength(1);
      }));

    it('finds an accepted upload in which the service counted another number of records', () =>
      withRun(async (checkpoint) => {
        for (const [chunk, serviceRecords] of [null, 10, 9].entries()) {
          await addChunk(checkpoint, 'r1', chunk + 1, 'cut');
          await beginUpload(checkpoint, 'r1', chunk + 1);
          expect(await checkpoint.misreadUpload('r1')).toBeUndefined();
          const reply = { folio: `F${chunk}`, serviceRecords, rehearsal: false };
          await checkpoint.recordAccepted('r1', chunk + 1, reply, 9);
        }
        expect(await checkpoint.misreadUpload('r1')).toMatchObject({ chunk: 3, serviceRecords: 9 });
      }));

    it('adds up plain uploads, and gives all attempts of the other chunks', () =>
      withRun(async (checkpoint) => {
        expect(await checkpoint.uploadSums('r1')).toEqual([]);
        const accepted = async (chunk: number, at: number, reply: Partial<AcceptedReply>) => {
          await addChunk(checkpoint, 'r1', chunk, 'cut');
          await beginUpload(checkpoint, 'r1', chunk, at);
          await checkpoint.recordAccepted('r1', chunk, { ...sampleReply(chunk), ...reply }, at + 1);
        };
        await accepted(1, 50, {});
        await accepted(2, 20, { serviceRecords: null });
        await accepted(3, 30, { rehearsal: true });
        await accepted(4, 60, { serviceRecords: 9 });
        await addChunk(checkpoint, 'r1', 5, 'cut');
        await beginUpload(checkpoint, 'r1', 5, 70);
        await checkpoint.recordDropped('r1', 5, 71);
        await beginUpload(checkpoint, 'r1', 5, 72);
        await checkpoint.recordAccepted('r1', 5, sampleReply(5), 73);
        await addChunk(checkpoint, 'r1', 6, 'ambiguous');
        expect(await checkpoint.uploadSums('r1')).toEqual([
          { local: false, uploads: 2, records: 20, firstAt: 20, lastAt: 50 },
          { local: true, uploads: 1, records: 10, firstAt: 30, lastAt: 30 },
        ]);
        const unusual = async (after: number, limit: number) =>
          (await checkpoint.unusualUploads('r1', after, limit)).map(
            ({ chunk, attempt, state }) => `${chunk}.${attempt} ${state}`,
          );
        expect(await unusual(0, 2)).toEqual(['4.1 accepted', '5.1 dropped', '5.2 accepted']);
        expect(await unusual(5, 2)).toEqual(['6.1 ambiguous']);
        expect(await unusual(6, 2)).toEqual([]);
      }));

    it('keeps the folio of an accepted attempt', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'uploading');
        const reply = { folio: 'F1', serviceRecords: null, rehearsal: false };
        const submitted = await checkpoint.recordAccepted('r1', 1, reply, 9);
        expect(submitted).toMatchObject({ state: 'submitted', folio: 'F1', submittedAt: 9 });
        expect(await checkpoint.chunk('r1', 1)).toEqual(submitted);
        const [upload] = await checkpoint.uploads('r1', 0, 10);
        expect(upload).toMatchObject({ state: 'accepted', folio: 'F1', serviceRecords: null, endedAt: 9 });
        expect((await checkpoint.run('r1'))?.rehearsal).toBe(false);
        await expect(checkpoint.recordAccepted('r1', 1, reply, 9)).rejects.toThrow(CheckpointStateError);
      }));

    it('marks the run as a rehearsal for good', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'uploading');
        await checkpoint.recordAccepted('r1', 1, { ...sampleReply(1), rehearsal: true }, 9);
        await addChunk(checkpoint, 'r1', 2, 'submitted');
        expect((await checkpoint.run('r1'))?.rehearsal).toBe(true);
      }));

    it.each(['no-reply', 'redirected', 'unreadable'] as const)(
      'keeps why an attempt is ambiguous: %s',
      (doubt) =>
        withRun(async (checkpoint) => {
          await addChunk(checkpoint, 'r1', 1, 'uploading');
          await checkpoint.recordAmbiguous('r1', 1, 9, doubt);
          expect((await checkpoint.chunk('r1', 1))?.state).toBe('ambiguous');
          const [upload] = await checkpoint.uploads('r1', 0, 10);
          expect(upload).toMatchObject({ state: 'ambiguous', doubt, folio: null, local: null, endedAt: 9 });
        }),
    );

    it('counts the replies that could not be read since the newest that could', () =>
      withRun(async (checkpoint) => {
        const end = async (chunk: number, at: number, doubt?: Doubt) => {
          await addChunk(checkpoint, 'r1', chunk, 'uploading');
          if (doubt === undefined) await checkpoint.recordAccepted('r1', chunk, sampleReply(chunk), at);
          else await checkpoint.recordAmbiguous('r1', chunk, at, doubt);
          return checkpoint.doubtsInRow('r1', 'unreadable');
        };
        expect(await checkpoint.doubtsInRow('r1', 'unreadable')).toBe(0);
        expect(await end(1, 10, 'unreadable')).toBe(1);
        // Neither says anything of what replies look like.
        expect(await end(2, 20, 'no-reply')).toBe(1);
        expect(await end(3, 30, 'redirected')).toBe(1);
        expect(await end(4, 40, 'unreadable')).toBe(2);
        expect(await end(5, 50)).toBe(0);
        expect(await end(6, 50, 'unreadable')).toBe(1);
        await addChunk(checkpoint, 'r1', 7, 'uploading');
        await checkpoint.recordInterrupted('r1');
        expect(await checkpoint.doubtsInRow('r1', 'unreadable')).toBe(1);
        await checkpoint.recordAdopted('r1', 1, { ...sampleReply(1), rehearsal: false }, 60);
        expect(await checkpoint.doubtsInRow('r1', 'unreadable')).toBe(0);
        expect(await checkpoint.doubtsInRow('r2', 'unreadable')).toBe(0);
      }));

    it('counts the redirects since the newest upload that was accepted was sent', () =>
      withRun(async (checkpoint) => {
        const begin = (chunk: number) => addChunk(checkpoint, 'r1', chunk, 'uploading');
        const redirects = () => checkpoint.doubtsInRow('r1', 'redirected');
        await begin(1);
        await checkpoint.recordAmbiguous('r1', 1, 9_000, 'redirected');
        expect(await redirects()).toBe(1);
        // Where it was sent to is not known by a folio that a person has found.
        await begin(2);
        await checkpoint.recordAmbiguous('r1', 2, 9_001, 'redirected');
        await checkpoint.recordAdopted('r1', 2, { ...sampleReply(2), rehearsal: false }, 9_002);
        expect(await redirects()).toBe(1);
      }));

    it('knows who has answered, and whether replies contradict each other', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r2'));
        const accept = async (run: string, chunk: number, rehearsal: boolean) => {
          await addChunk(checkpoint, run, chunk, 'uploading');
          await checkpoint.recordAccepted(run, chunk, { ...sampleReply(chunk), rehearsal }, 9);
          return checkpoint.replyKinds(run);
        };
        expect(await checkpoint.replyKinds('none')).toEqual({ local: false, other: false, mixed: false });
        expect(await checkpoint.replyKinds('r1')).toEqual({ local: false, other: false, mixed: false });
        expect(await accept('r1', 1, false)).toEqual({ local: false, other: true, mixed: false });
        expect(await accept('r1', 2, true)).toEqual({ local: true, other: true, mixed: true });
        const kinds = (await checkpoint.uploads('r1', 0, 10)).map(({ local }) => local);
        expect(kinds).toEqual([false, true]);
        expect((await checkpoint.run('r1'))?.rehearsal).toBe(true);

        await addChunk(checkpoint, 'r2', 1, 'ambiguous');
        await checkpoint.recordAdopted('r2', 1, { ...sampleReply(9), rehearsal: true }, 9);
        expect(await checkpoint.replyKinds('r2')).toEqual({ local: true, other: false, mixed: false });
      }));

    it('keeps for good that a poll has contradicted an upload', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'submitted');
        await checkpoint.recordMixed('r1');
        await addChunk(checkpoint, 'r1', 2, 'submitted');
        expect(await checkpoint.replyKinds('r1')).toEqual({ local: false, other: true, mixed: true });
        expect((await checkpoint.run('r1'))?.rehearsal).toBe(true);
        await expect(checkpoint.recordMixed('none')).rejects.toThrow(CheckpointStateError);
      }));

    it('takes a dropped attempt back to cut, and the next one has the next number', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'uploading');
        await addChunk(checkpoint, 'r1', 2, 'ambiguous');
        await beginUpload(checkpoint, 'r1', 2);
        await checkpoint.recordAmbiguous('r1', 2, 3, 'no-reply');
        await checkpoint.recordDropped('r1', 1, 9);
        expect(await checkpoint.chunk('r1', 1)).toMatchObject({ state: 'cut', attempt: 1 });
        expect(await beginUpload(checkpoint, 'r1', 1)).toMatchObject({ attempt: 2, fileName: 'r1-1-2.csv' });
        const states = (await checkpoint.attempts('r1', 1)).map(({ state, endedAt }) => [state, endedAt]);
        expect(states).toEqual([
          ['dropped', 9],
          ['intent', null],
        ]);
      }));

    it('takes a dropped attempt back to ambiguous where an earlier one still is', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'ambiguous');
        await beginUpload(checkpoint, 'r1', 1);
        await checkpoint.recordDropped('r1', 1, 9);
        expect((await checkpoint.chunk('r1', 1))?.state).toBe('ambiguous');
        const states = (await checkpoint.uploads('r1', 0, 10)).map((upload) => upload.state);
        expect(states).toEqual(['ambiguous', 'dropped']);
      }));

    it('makes what a dead process was uploading ambiguous, in this run only', () =>
      withRun(async (checkpoint) => {
        for (const [index, state] of (['uploading', 'submitted', 'uploading', 'cut'] as const).entries()) {
          await addChunk(checkpoint, 'r1', index + 1, state);
        }
        await checkpoint.recordRun(sampleRun('r2'));
        await addChunk(checkpoint, 'r2', 1, 'uploading');
        expect(await checkpoint.recordInterrupted('r1')).toBe(2);
        expect(await checkpoint.recordInterrupted('r1')).toBe(0);
        const chunks = await checkpoint.chunksIn('r1', ['ambiguous'], 0, 10);
        expect(chunks.map((chunk) => chunk.number)).toEqual([1, 3]);
        const uploads = await checkpoint.uploads('r1', 0, 10);
        expect(uploads.map((upload) => upload.state)).toEqual(['ambiguous', 'accepted', 'ambiguous']);
        expect(uploads.map((upload) => upload.doubt)).toEqual(['no-reply', null, 'no-reply']);
        expect((await checkpoint.chunk('r2', 1))?.state).toBe('uploading');
      }));

    it('refuses the end of an attempt that was not begun', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'cut');
        await expect(checkpoint.recordAccepted('r1', 1, sampleReply(1), 9)).rejects.toThrow(
          CheckpointStateError,
        );
        await expect(checkpoint.recordDropped('r1', 1, 9)).rejects.toThrow(CheckpointStateError);
        await expect(checkpoint.recordAmbiguous('r1', 1, 9, 'no-reply')).rejects.toThrow(
          CheckpointStateError,
        );
      }));

    it('pages through attempts without dividing those of a chunk', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'cut');
        for (const chunk of [2, 3]) {
          await addChunk(checkpoint, 'r1', chunk, 'uploading');
          await checkpoint.recordDropped('r1', chunk, 9);
          await beginUpload(checkpoint, 'r1', chunk);
        }
        const page = async (after: number, limit: number) =>
          (await checkpoint.uploads('r1', after, limit)).map(({ chunk, attempt }) => [chunk, attempt]);
        expect(await page(0, 1)).toEqual([
          [2, 1],
          [2, 2],
        ]);
        expect(await page(2, 5)).toEqual([
          [3, 1],
          [3, 2],
        ]);
        expect(await page(3, 5)).toEqual([]);
      }));

    it('gives the attempts of one chunk, oldest first', () =>
      withRun(async (checkpoint) => {
        for (const chunk of [1, 2, 3]) await addChunk(checkpoint, 'r1', chunk, 'uploading');
        await checkpoint.recordAmbiguous('r1', 2, 9, 'no-reply');
        await beginUpload(checkpoint, 'r1', 2);
        await checkpoint.recordAccepted('r1', 2, sampleReply(2), 9);
        const all = await checkpoint.uploads('r1', 0, 10);
        expect(await checkpoint.attempts('r1', 2)).toEqual(all.filter(({ chunk }) => chunk === 2));
        expect((await checkpoint.attempts('r1', 2)).map(({ state }) => state)).toEqual([
          'ambiguous',
          'accepted',
        ]);
        await addChunk(checkpoint, 'r1', 4, 'cut');
        expect(await checkpoint.attempts('r1', 4)).toEqual([]);
        expect(await checkpoint.attempts('r2', 2)).toEqual([]);
      }));

    it('tallies accepted, ambiguous and resubmitted attempts', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'submitted');
        // Ambiguous, dropped, ambiguous again, at last accepted: the latter two were resubmitted.
        await addChunk(checkpoint, 'r1', 2, 'ambiguous');
        await beginUpload(checkpoint, 'r1', 2);
        await checkpoint.recordDropped('r1', 2, 3);
        await beginUpload(checkpoint, 'r1', 2);
        await checkpoint.recordAmbiguous('r1', 2, 4, 'no-reply');
        await beginUpload(checkpoint, 'r1', 2);
        await checkpoint.recordAccepted('r1', 2, sampleReply(2), 5);
        // Ambiguous and being sent again: not resubmitted until it has reached the service.
        await addChunk(checkpoint, 'r1', 3, 'ambiguous');
        await beginUpload(checkpoint, 'r1', 3);

        const tally = await checkpoint.tally('r1');
        expect(tally.uploads).toEqual({ accepted: 2, ambiguous: 3, resubmitted: 2 });
        expect(tally.ambiguousRecords).toBe(30);
        expect(tally.chunks).toEqual({ ...nothingTallied, submitted: 2, uploading: 1 });
        expect(tally.records).toEqual({ ...nothingTallied, submitted: 20, uploading: 10 });
      }));

    it('has an empty tally for a run without chunks', () =>
      withRun(async (checkpoint) => {
        expect(await checkpoint.tally('r1')).toEqual({
          chunks: nothingTallied,
          records: nothingTallied,
          merged: { chunks: 0, records: 0 },
          counts: noRows,
          uploads: { accepted: 0, ambiguous: 0, resubmitted: 0 },
          searches: { answered: 0, ambiguous: 0 },
          ambiguousRecords: 0,
        });
      }));
  });
}
