/** Contract: the cutting of a source, and reads of chunks in its order. */
import { describe, expect, it } from 'vitest';
import { addAs, addChunk, withSampleRun } from '../helpers/checkpoint/advance-chunk.js';
import {
  newlyCut,
  sampleChunk,
  sampleHalves,
  samplePicked,
  samplePublication,
  sampleRun,
} from '../helpers/checkpoint/samples.js';
import type { WithCheckpoint } from './checkpoint-contract.js';
import { expectRefused } from './refuses.js';

export function cuttingContract(withCheckpoint: WithCheckpoint): void {
  const withRun = withSampleRun(withCheckpoint);

  describe('cutting', () => {
    it('returns a chunk as it was cut, without results', () =>
      withRun(async (checkpoint) => {
        expect(await checkpoint.recordCut('r1', sampleChunk(1))).toEqual(newlyCut(1, sampleChunk(1)));
        expect(await checkpoint.chunk('r1', 1)).toEqual(newlyCut(1, sampleChunk(1)));
        expect(await checkpoint.chunk('r1', 2)).toBeUndefined();
        expect(await checkpoint.chunk('r2', 1)).toBeUndefined();
        expect(await checkpoint.pickedRecords('r1', 1)).toBeUndefined();
      }));

    it('numbers chunks from 1 in the order in which they are cut, in each run', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r2'));
        const cut = async (run: string, nth: number) =>
          (await checkpoint.recordCut(run, sampleChunk(nth))).number;
        expect([await cut('r1', 7), await cut('r2', 1), await cut('r1', 8)]).toEqual([1, 1, 2]);
        await expectRefused(checkpoint, 'r1', () => cut('r1', 3));
        expect([await cut('r1', 9), await cut('r2', 4)]).toEqual([3, 2]);
      }));

    it('numbers chunks that are cut at once, each once', () =>
      withRun(async (checkpoint) => {
        const cuts = Array.from({ length: 20 }, (_, at) => checkpoint.recordCut('r1', sampleChunk(at + 1)));
        const numbers = (await Promise.all(cuts)).map(({ number }) => number);
        expect(numbers).toEqual(cuts.map((_, at) => at + 1));
      }));

    it('takes chunks of the source only after all others of it, gaps allowed', () =>
      withRun(async (checkpoint) => {
        const cut = (firstRecord: number) =>
          checkpoint.recordCut('r1', sampleChunk(1, { firstRecord, lastRecord: firstRecord + 9 }));
        await expectRefused(checkpoint, 'r1', () => cut(0));
        await cut(3);
        await expectRefused(checkpoint, 'r1', ...[1, 3, 12].map((record) => () => cut(record)));
        await cut(13);
        await cut(40);
        expect((await checkpoint.lastCut('r1', 0))?.number).toBe(3);
      }));

    it('takes chunks only of an open run', () =>
      withRun(async (checkpoint) => {
        const cut = () => checkpoint.recordCut('r1', sampleChunk(1));
        await expectRefused(checkpoint, 'r1', () => checkpoint.recordCut('r2', sampleChunk(1)));
        await checkpoint.recordPublishing('r1', samplePublication);
        await expectRefused(checkpoint, 'r1', cut, () => checkpoint.recordAllCut('r1'));
        await checkpoint.recordDone('r1', 5);
        await expectRefused(checkpoint, 'r1', cut, () => checkpoint.recordAllCut('r1'));
        await checkpoint.recordRun(sampleRun('r3'));
        await checkpoint.recordSuperseded('r3', 5);
        await expectRefused(
          checkpoint,
          'r3',
          () => checkpoint.recordCut('r3', sampleChunk(1)),
          () => checkpoint.recordAllCut('r3'),
          () => checkpoint.recordAllCut('r2'),
        );
      }));

    it('fixes the number of chunks, split ones left out, once', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'cut');
        await addChunk(checkpoint, 'r1', 2, 'split');
        await checkpoint.recordAllCut('r1');
        expect((await checkpoint.run('r1'))?.chunks).toBe(3);
        await checkpoint.recordAllCut('r1');
        expect((await checkpoint.run('r1'))?.chunks).toBe(3);
        await expectRefused(checkpoint, 'r1', () => checkpoint.recordCut('r1', sampleChunk(3)));
      }));

    it('may be told again that all is cut, after chunks of rounds were added, and changes nothing', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'cut');
        await checkpoint.recordAllCut('r1');
        await checkpoint.recordCut('r1', samplePicked(2, 1, [3, 5]));
        await checkpoint.recordAllCut('r1');
        expect((await checkpoint.run('r1'))?.chunks).toBe(2);
      }));

    it('fixes that there are none', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordAllCut('r1');
        expect((await checkpoint.run('r1'))?.chunks).toBe(0);
        await expectRefused(checkpoint, 'r1', () => checkpoint.recordCut('r1', sampleChunk(1)));
      }));
  });

  describe('asking for chunks', () => {
    it('lists chunks of some states in pages, by number', () =>
      withRun(async (checkpoint) => {
        const states = ['cut', 'submitted', 'cut', 'ambiguous', 'cut', 'submitted', 'split'] as const;
        for (const [index, state] of states.entries()) await addChunk(checkpoint, 'r1', index + 1, state);
        const numbers = async (...args: Parameters<typeof checkpoint.chunksIn>) =>
          (await checkpoint.chunksIn(...args)).map((chunk) => chunk.number);
        expect(await numbers('r1', ['submitted', 'cut'], 0, 10)).toEqual([1, 2, 3, 5, 6, 8, 9]);
        expect(await numbers('r1', ['submitted', 'cut'], 1, 2)).toEqual([2, 3]);
        expect(await numbers('r1', ['cut', 'cut'], 3, 10)).toEqual([5, 8, 9]);
        expect(await numbers('r1', ['split'], 0, 10)).toEqual([7]);
        expect(await numbers('r1', [], 0, 10)).toEqual([]);
        expect(await numbers('r2', ['cut'], 0, 10)).toEqual([]);
      }));

    it('goes through a round in the order of the source, split chunks left out', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'split');
        await addChunk(checkpoint, 'r1', 2, 'split');
        await addAs(checkpoint, 'r1', sampleChunk(3, { firstRecord: 23, lastRecord: 30 }), 'unprocessed');
        await checkpoint.recordSplit('r1', 2, sampleHalves(sampleChunk(1, { lastRecord: 5, records: 5 })));
        await checkpoint.recordAllCut('r1');
        await checkpoint.recordCut('r1', samplePicked(8, 1, [2, 12]));
        await checkpoint.recordCut('r1', samplePicked(6, 1, [13, 29]));
        const next = async (round: number, after: number) =>
          (await checkpoint.nextChunk('r1', round, after))?.number;
        // Chunk 1 is in the halves 2 and 3, chunk 2 in 8 and 9, chunk 4 in 5 and 6.
        expect(await next(0, 0)).toBe(8);
        expect(await next(0, 1)).toBe(8);
        expect(await next(0, 2)).toBe(9);
        expect(await next(0, 5)).toBe(3);
        expect(await next(0, 9)).toBe(3);
        expect(await next(0, 10)).toBe(5);
        expect(await next(0, 15)).toBe(6);
        expect(await next(0, 22)).toBe(7);
        expect(await next(0, 29)).toBe(7);
        expect(await next(0, 30)).toBeUndefined();
        expect([await next(1, 0), await next(1, 12), await next(1, 29)]).toEqual([10, 11, undefined]);
        expect(await next(2, 0)).toBeUndefined();
        expect(await checkpoint.nextChunk('r1', 0, 20)).toEqual(await checkpoint.chunk('r1', 7));
        const last = async (round: number) => (await checkpoint.lastCut('r1', round))?.number;
        expect([await last(0), await last(1), await last(2)]).toEqual([7, 11, undefined]);
      }));

    it('leaves out a split chunk that comes last in the source', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'split');
        expect((await checkpoint.lastCut('r1', 0))?.number).toBe(3);
        expect(await checkpoint.nextChunk('r2', 0, 0)).toBeUndefined();
        expect(await checkpoint.lastCut('r2', 0)).toBeUndefined();
        expect(await checkpoint.lastRound('r2')).toBe(0);
      }));
  });
}
