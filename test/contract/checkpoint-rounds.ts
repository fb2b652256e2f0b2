/** Contract: rounds, in which failed records go out again. */
import { describe, expect, it } from 'vitest';
import type { Checkpoint, NewChunk } from '../../src/checkpoint/checkpoint.js';
import { noRows } from '../../src/results/row-counts.js';
import {
  addAs,
  addChunk,
  beginUpload,
  mergeChunk,
  sampleReply,
} from '../helpers/checkpoint/advance-chunk.js';
import {
  allSuccessful,
  newlyCut,
  nothingTallied,
  samplePart,
  samplePicked,
  samplePublication,
  sampleRun,
} from '../helpers/checkpoint/samples.js';
import type { WithCheckpoint } from './checkpoint-contract.js';
import { expectEachRefused, expectRefused } from './refuses.js';

export function roundContract(withCheckpoint: WithCheckpoint): void {
  /** A run whose one chunk is merged and whose source is cut whole. */
  const withRun: WithCheckpoint = (use) =>
    withCheckpoint(async (checkpoint) => {
      await checkpoint.recordRun(sampleRun('r1'));
      await addChunk(checkpoint, 'r1', 1, 'downloaded');
      await checkpoint.recordAllCut('r1');
      await mergeChunk(checkpoint, 'r1', 1, allSuccessful, 100);
      await use(checkpoint);
    });
  const cut = (checkpoint: Checkpoint, chunk: NewChunk) => () => checkpoint.recordCut('r1', chunk);
  const settle = (checkpoint: Checkpoint, round: number) => () => checkpoint.recordRoundClosed('r1', round);

  describe('chunks of a round', () => {
    it('contain exactly the picked records', () =>
      withRun(async (checkpoint) => {
        const chunk = samplePicked(2, 1, [2, 3, 9, 70_000, 3_000_000_000]);
        await checkpoint.recordCut('r1', chunk);
        expect(await checkpoint.chunk('r1', 2)).toEqual(newlyCut(2, chunk));
        expect(await checkpoint.pickedRecords('r1', 2)).toEqual([2, 3, 9, 70_000, 3_000_000_000]);
        expect(await checkpoint.pickedRecords('r1', 1)).toBeUndefined();
        expect(await checkpoint.pickedRecords('r1', 3)).toBeUndefined();
        expect(await checkpoint.pickedRecords('r2', 2)).toBeUndefined();
        expect((await checkpoint.run('r1'))?.chunks).toBe(2);
        expect(await checkpoint.lastRound('r1')).toBe(1);
      }));

    it('count what is answered, with the last answer of each record', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r1'));
        expect(await checkpoint.answered('r1')).toEqual({ records: 0, failed: 0 });
        await addChunk(checkpoint, 'r1', 1, 'submitted');
        const part = { fileStatus: 'SUCCESSFUL' as const, part: 0 };
        await checkpoint.recordFinished('r1', 1, { successful: 7, failed: 3 }, [part]);
        expect(await checkpoint.answered('r1')).toEqual({ records: 0, failed: 0 });
        await checkpoint.recordParts('r1', 1, [samplePart(0)]);
        await checkpoint.recordDownloaded('r1', 1);
        await addChunk(checkpoint, 'r1', 2, 'refused');
        expect(await checkpoint.answered('r1')).toEqual({ records: 11, failed: 4 });
        await checkpoint.recordAllCut('r1');
        await mergeChunk(checkpoint, 'r1', 1, { ...noRows, successful: 7, failed: 3 }, 100);
        await mergeChunk(checkpoint, 'r1', 2, { ...noRows, failed: 1 }, 110);
        await addAs(checkpoint, 'r1', samplePicked(3, 1, [2, 5]), 'downloaded');
        expect(await checkpoint.answered('r1')).toEqual({ records: 11, failed: 2 });
      }));

    it('keep many records', () =>
      withRun(async (checkpoint) => {
        const many = Array.from({ length: 5_000 }, (_, at) => at * 3 + 1);
        await checkpoint.recordCut('r1', samplePicked(2, 1, many));
        expect(await checkpoint.pickedRecords('r1', 2)).toEqual(many);
      }));

    it('begin after all others of the round, which is the first that is not settled', () =>
      withRun(async (checkpoint) => {
        const refusedNow = [samplePicked(3, 2, [5]), samplePicked(3, 0, [5]), samplePicked(3, -1, [5])];
        await expectRefused(checkpoint, 'r1', ...refusedNow.map((chunk) => cut(checkpoint, chunk)));
        await addAs(checkpoint, 'r1', samplePicked(2, 1, [2, 5]), 'downloaded');
        const behind = [samplePicked(3, 1, [1]), samplePicked(3, 1, [4, 7]), samplePicked(3, 1, [5, 7])];
        await expectRefused(checkpoint, 'r1', ...behind.map((chunk) => cut(checkpoint, chunk)));
        await addAs(checkpoint, 'r1', samplePicked(3, 1, [6, 7]), 'downloaded');
        await checkpoint.recordRoundClosed('r1', 1);
        await expectRefused(checkpoint, 'r1', cut(checkpoint, samplePicked(4, 1, [8])));
        await checkpoint.recordCut('r1', samplePicked(4, 2, [2]));
        expect(await checkpoint.lastRound('r1')).toBe(2);
        expect((await checkpoint.run('r1'))?.chunks).toBe(4);
      }));

    const right = samplePicked(2, 1, [2, 5, 7]);
    const wrong: Readonly<Record<string, NewChunk>> = {
      'no records': samplePicked(2, 1, []),
      'records that do not ascend': { ...right, picked: { round: 1, numbers: [2, 8, 7] } },
      'a record twice': { ...right, picked: { round: 1, numbers: [2, 2, 7] } },
      'another first record': { ...right, firstRecord: 1 },
      'another last record': { ...right, lastRecord: 8 },
      'another number of records': { ...right, records: 2 },
    };
    it('are refused where they are not the picked records', () =>
      withRun((checkpoint) => {
        const cuts = Object.entries(wrong).map(([name, chunk]) => [name, cut(checkpoint, chunk)]);
        return expectEachRefused(checkpoint, 'r1', Object.fromEntries(cuts));
      }));

    it('are refused before the source is cut completely', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r1'));
        await addChunk(checkpoint, 'r1', 1, 'downloaded');
        await expectRefused(checkpoint, 'r1', cut(checkpoint, right));
      }));

    it('of round 0 are some of the next records of the source', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r1'));
        await addChunk(checkpoint, 'r1', 1, 'downloaded');
        const some = samplePicked(2, 0, [12, 15]);
        expect(await checkpoint.recordCut('r1', some)).toEqual(newlyCut(2, some));
        expect(await checkpoint.pickedRecords('r1', 2)).toEqual([12, 15]);
        await expectRefused(checkpoint, 'r1', cut(checkpoint, samplePicked(3, 0, [14, 17])));
        await checkpoint.recordAllCut('r1');
        await expectRefused(checkpoint, 'r1', cut(checkpoint, samplePicked(3, 0, [16])));
      }));

    it('are tallied with those of the source', () =>
      withRun(async (checkpoint) => {
        await addAs(checkpoint, 'r1', right, 'submitted');
        await addAs(checkpoint, 'r1', samplePicked(3, 1, [8]), 'refused');
        const tally = await checkpoint.tally('r1');
        expect(tally.chunks).toEqual({ ...nothingTallied, downloaded: 1, submitted: 1, refused: 1 });
        expect(tally.records).toEqual({ ...nothingTallied, downloaded: 10, submitted: 3, refused: 1 });
        expect(tally.merged).toEqual({ chunks: 1, records: 10 });
        expect(await checkpoint.chunksIn('r1', ['submitted', 'downloaded'], 0, 9)).toHaveLength(2);
      }));
  });

  describe('settling a round', () => {
    it('makes its answers count, so that no chunk is merged any more', () =>
      withRun(async (checkpoint) => {
        const ends = ['downloaded', 'unprocessed'] as const;
        for (const [at, state] of ends.entries()) {
          await addAs(checkpoint, 'r1', samplePicked(at + 2, 1, [at + 4]), state);
        }
        await addAs(checkpoint, 'r1', samplePicked(4, 1, [8]), 'refused');
        await checkpoint.recordRoundClosed('r1', 1);
        expect((await checkpoint.run('r1'))?.round).toBe(1);
        expect(await checkpoint.lastStretch('r1')).toBeUndefined();
        expect(await checkpoint.chunk('r1', 1)).toBeDefined();
      }));

    it('waits for each chunk of it, until it is answered or given up', () =>
      withRun(async (checkpoint) => {
        const chunk = samplePicked(3, 1, [3]);
        const waits = () => expectRefused(checkpoint, 'r1', settle(checkpoint, 1));
        await addAs(checkpoint, 'r1', samplePicked(2, 1, [2]), 'downloaded');
        await checkpoint.recordCut('r1', chunk);
        await waits();
        await beginUpload(checkpoint, 'r1', 3);
        await waits();
        await checkpoint.recordAmbiguous('r1', 3, 2, 'no-reply');
        await waits();
        await beginUpload(checkpoint, 'r1', 3);
        await checkpoint.recordAccepted('r1', 3, sampleReply(3), 2);
        await waits();
        await checkpoint.recordFinished('r1', 3, { successful: 0, failed: 1 }, []);
        await waits();
        await checkpoint.recordDownloaded('r1', 3);
        await checkpoint.recordRoundClosed('r1', 1);
      }));

    it('waits for the halves of a split chunk, and not for itself', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordCut('r1', samplePicked(2, 1, [2, 3]));
        await checkpoint.recordSplit('r1', 2, [samplePicked(3, 1, [2]), samplePicked(4, 1, [3])]);
        await checkpoint.recordRefused('r1', 3, 'no');
        await expectRefused(checkpoint, 'r1', settle(checkpoint, 1));
        await checkpoint.recordRefused('r1', 4, 'no');
        await checkpoint.recordRoundClosed('r1', 1);
        expect((await checkpoint.run('r1'))?.round).toBe(1);
      }));

    it('goes from round to round, with or without chunks', () =>
      withRun(async (checkpoint) => {
        await expectRefused(checkpoint, 'r1', settle(checkpoint, 0), settle(checkpoint, 2));
        await checkpoint.recordRoundClosed('r1', 1);
        await expectRefused(checkpoint, 'r1', settle(checkpoint, 1), settle(checkpoint, 3));
        await addAs(checkpoint, 'r1', samplePicked(2, 2, [2]), 'downloaded');
        await checkpoint.recordRoundClosed('r1', 2);
        expect((await checkpoint.run('r1'))?.round).toBe(2);
      }));

    it('belongs to an open run', () =>
      withRun(async (checkpoint) => {
        await expectRefused(checkpoint, 'r1', () => checkpoint.recordRoundClosed('r2', 1));
        await checkpoint.recordPublishing('r1', samplePublication);
        await expectRefused(
          checkpoint,
          'r1',
          settle(checkpoint, 1),
          cut(checkpoint, samplePicked(2, 1, [2])),
        );
        await checkpoint.recordDone('r1', 9);
        await expectRefused(
          checkpoint,
          'r1',
          settle(checkpoint, 1),
          cut(checkpoint, samplePicked(2, 1, [2])),
        );
        await checkpoint.recordReopened('r1');
        await checkpoint.recordCut('r1', samplePicked(2, 1, [2]));
      }));
  });
}
