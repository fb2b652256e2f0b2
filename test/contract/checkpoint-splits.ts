/** Contract: chunks that the service refuses, in two halves or as one record. */
import { describe, expect, it } from 'vitest';
import type { Checkpoint, NewChunk } from '../../src/checkpoint/checkpoint.js';
import { addAs, addChunk, beginUpload, withSampleRun } from '../helpers/checkpoint/advance-chunk.js';
import {
  newlyCut,
  nothingTallied,
  sampleChunk,
  sampleHalves,
  samplePicked,
  samplePublication,
  sampleSingle,
} from '../helpers/checkpoint/samples.js';
import type { WithCheckpoint } from './checkpoint-contract.js';
import { expectEachRefused, expectRefused } from './refuses.js';

type Halves = [NewChunk, NewChunk];

const splitsInto = (checkpoint: Checkpoint, chunk: number, all: Readonly<Record<string, Halves>>) =>
  Object.fromEntries(
    Object.entries(all).map(([name, halves]) => [name, () => checkpoint.recordSplit('r1', chunk, halves)]),
  );

export function splitContract(withCheckpoint: WithCheckpoint): void {
  const withRun = withSampleRun(withCheckpoint);
  const [first, second] = sampleHalves(sampleChunk(1));

  describe('splitting', () => {
    it.each(['cut', 'ambiguous'] as const)('puts two new chunks in the place of one that is %s', (state) =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, state);
        await addChunk(checkpoint, 'r1', 2, 'cut');
        const before = await checkpoint.chunk('r1', 1);
        const sent = await checkpoint.uploads('r1', 0, 10);
        const halves = await checkpoint.recordSplit('r1', 1, [first, second]);
        expect(halves).toEqual([newlyCut(3, first), newlyCut(4, second)]);
        expect(await checkpoint.chunk('r1', 1)).toEqual({ ...before, state: 'split' });
        expect(await checkpoint.chunk('r1', 3)).toEqual(newlyCut(3, first));
        expect(await checkpoint.chunk('r1', 4)).toEqual(newlyCut(4, second));
        expect(await checkpoint.uploads('r1', 0, 10)).toEqual(sent);
        const tally = await checkpoint.tally('r1');
        expect(tally.chunks).toEqual({ ...nothingTallied, cut: 3, split: 1 });
        expect(tally.records).toEqual({ ...nothingTallied, cut: 20, split: 10 });
        await checkpoint.recordAllCut('r1');
        expect((await checkpoint.run('r1'))?.chunks).toBe(3);
      }),
    );

    it('counts one chunk more once the number of chunks is fixed', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'cut');
        await checkpoint.recordAllCut('r1');
        await checkpoint.recordSplit('r1', 1, [first, second]);
        expect((await checkpoint.run('r1'))?.chunks).toBe(2);
      }));

    it('splits a half again, as it lies in the source', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'cut');
        await checkpoint.recordSplit('r1', 1, [first, second]);
        await checkpoint.recordSplit('r1', 2, sampleHalves(first));
        const order: (number | undefined)[] = [];
        let after = 0;
        for (let step = 1; step <= 4; step++) {
          const next = await checkpoint.nextChunk('r1', 0, after);
          order.push(next?.number);
          after = next?.lastRecord ?? after;
        }
        expect(order).toEqual([4, 5, 3, undefined]);
        await checkpoint.recordCut('r1', sampleChunk(2));
        expect((await checkpoint.tally('r1')).chunks).toEqual({ ...nothingTallied, cut: 4, split: 2 });
      }));

    it('refuses any further change of a split chunk', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'ambiguous');
        await checkpoint.recordSplit('r1', 1, [first, second]);
        await expectRefused(
          checkpoint,
          'r1',
          () => beginUpload(checkpoint, 'r1', 1),
          () => checkpoint.recordSplit('r1', 1, sampleHalves(sampleChunk(1))),
          () => checkpoint.recordRefused('r1', 1, 'no'),
        );
        expect(await checkpoint.recordInterrupted('r1')).toBe(0);
      }));

    it.each(['uploading', 'submitted', 'finished', 'downloaded', 'unprocessed'] as const)(
      'splits and refuses no chunk that is %s',
      (state) =>
        withRun(async (checkpoint) => {
          await addAs(checkpoint, 'r1', sampleChunk(1), state);
          await addAs(checkpoint, 'r1', sampleSingle(2), state);
          await expectRefused(
            checkpoint,
            'r1',
            () => checkpoint.recordSplit('r1', 1, [first, second]),
            () => checkpoint.recordRefused('r1', 2, 'no'),
          );
        }),
    );

    const lessBy = (half: NewChunk, records: number) => ({ ...half, records: half.records - records });
    const wrong: Readonly<Record<string, Halves>> = {
      'a first half that begins later': [{ ...first, firstRecord: 2 }, second],
      'a second half that ends earlier': [first, { ...second, lastRecord: 9 }],
      'a second half that ends later': [first, { ...second, lastRecord: 11 }],
      'halves that overlap': [{ ...first, lastRecord: 6 }, second],
      'halves in the other order': [second, first],
      'a record too few': [first, lessBy(second, 1)],
      'a record too many': [first, lessBy(second, -1)],
      'a half of nothing': [lessBy(first, 5), lessBy(second, -5)],
      'picked records': [samplePicked(5, 1, [1, 2, 3, 4, 5]), samplePicked(4, 1, [6, 7, 8, 9, 10])],
    };
    it('refuses halves that are not the chunk', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'cut');
        await addChunk(checkpoint, 'r1', 2, 'cut');
        await expectEachRefused(checkpoint, 'r1', splitsInto(checkpoint, 1, wrong));
      }));

    it('splits chunks only of an open run', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'cut');
        const split = () => checkpoint.recordSplit('r1', 1, [first, second]);
        await checkpoint.recordPublishing('r1', samplePublication);
        await expectRefused(checkpoint, 'r1', split);
        await checkpoint.recordDone('r1', 9);
        await expectRefused(checkpoint, 'r1', split);
        await checkpoint.recordReopened('r1');
        await checkpoint.recordSuperseded('r1', 9);
        await expectRefused(checkpoint, 'r1', split);
      }));

    it('refuses to split one record, and chunks that are not there', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordCut('r1', sampleSingle(1));
        const split = (run: string, chunk: number) => () =>
          checkpoint.recordSplit(run, chunk, [sampleSingle(5, 1), sampleSingle(4, 2)]);
        await expectRefused(checkpoint, 'r1', split('r1', 1), split('r1', 2), split('r2', 1));
      }));
  });

  describe('splitting a chunk of a round', () => {
    const withRound = (use: (checkpoint: Checkpoint) => Promise<void>) =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'downloaded');
        await checkpoint.recordAllCut('r1');
        await checkpoint.recordCut('r1', samplePicked(2, 1, [2, 3, 7]));
        await use(checkpoint);
      });

    it('divides its records', () =>
      withRound(async (checkpoint) => {
        await checkpoint.recordSplit('r1', 2, [samplePicked(3, 1, [2]), samplePicked(4, 1, [3, 7])]);
        expect(await checkpoint.chunk('r1', 4)).toEqual(newlyCut(4, samplePicked(4, 1, [3, 7])));
        expect(await checkpoint.pickedRecords('r1', 3)).toEqual([2]);
        expect(await checkpoint.pickedRecords('r1', 4)).toEqual([3, 7]);
        expect((await checkpoint.run('r1'))?.chunks).toBe(3);
        expect(await checkpoint.lastRound('r1')).toBe(1);
        expect((await checkpoint.nextChunk('r1', 1, 0))?.number).toBe(3);
        expect((await checkpoint.lastCut('r1', 1))?.number).toBe(4);
      }));

    const one = samplePicked(3, 1, [2]);
    const wrong: Readonly<Record<string, Halves>> = {
      'another round': [samplePicked(3, 2, [2]), samplePicked(4, 2, [3, 7])],
      'other records': [one, samplePicked(4, 1, [4, 7])],
      'records that it does not say': [one, { ...samplePicked(4, 1, [3, 7]), records: 1 }],
      'no picked records': [
        { ...one, picked: null },
        { ...samplePicked(4, 1, [3, 7]), picked: null },
      ],
    };
    it('refuses halves that are not the chunk', () =>
      withRound((checkpoint) => expectEachRefused(checkpoint, 'r1', splitsInto(checkpoint, 2, wrong))));
  });

  describe('refusing', () => {
    it.each(['cut', 'ambiguous'] as const)('fails the only record of a chunk that is %s', (state) =>
      withRun(async (checkpoint) => {
        await addAs(checkpoint, 'r1', sampleSingle(1), state);
        const before = await checkpoint.chunk('r1', 1);
        const sent = await checkpoint.uploads('r1', 0, 10);
        const refused = await checkpoint.recordRefused('r1', 1, 'Größe fehlt');
        expect(await checkpoint.chunk('r1', 1)).toEqual(refused);
        expect(refused).toEqual({
          ...before,
          state: 'refused',
          refusal: 'Größe fehlt',
          counts: { successful: 0, failed: 1 },
        });
        expect(await checkpoint.uploads('r1', 0, 10)).toEqual(sent);
        const tally = await checkpoint.tally('r1');
        expect(tally.chunks).toEqual({ ...nothingTallied, refused: 1 });
        expect(tally.records).toEqual({ ...nothingTallied, refused: 1 });
        await expectRefused(
          checkpoint,
          'r1',
          () => checkpoint.recordRefused('r1', 1, 'again'),
          () => beginUpload(checkpoint, 'r1', 1),
        );
      }),
    );

    it('refuses a chunk of several records, and one that is not there', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'cut');
        const refuse = (run: string, chunk: number) => () => checkpoint.recordRefused(run, chunk, 'no');
        await expectRefused(checkpoint, 'r1', refuse('r1', 1), refuse('r1', 2), refuse('r2', 1));
      }));
  });
}
