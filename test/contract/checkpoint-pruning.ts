/** Contract: a finished run's results are deleted; what it paid for is kept. */
import { describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../src/checkpoint/checkpoint.js';
import { noRows } from '../../src/results/row-counts.js';
import { addAs, addChunk, beginUpload, mergeChunk } from '../helpers/checkpoint/advance-chunk.js';
import {
  allSuccessful,
  nothingTallied,
  sampleBudget,
  sampleChunk,
  sampleHalves,
  samplePicked,
  samplePublication,
  sampleRun,
  sampleWithheld,
} from '../helpers/checkpoint/samples.js';
import type { WithCheckpoint } from './checkpoint-contract.js';
import { expectRefused, stateOf } from './refuses.js';

const ended = ['done', 'withheld', 'superseded'] as const;
type Ended = (typeof ended)[number];

export function pruningContract(withCheckpoint: WithCheckpoint): void {
  const search = (checkpoint: Checkpoint, run: string, record: number) =>
    checkpoint.recordSearchIntent(run, record, 1, sampleBudget());
  /** A run with chunks of all kinds, a round and searches, and a second one beside it. */
  const withRun: WithCheckpoint = (use) =>
    withCheckpoint(async (checkpoint) => {
      await checkpoint.recordRun(sampleRun('r2'));
      await addChunk(checkpoint, 'r2', 1, 'downloaded');
      await search(checkpoint, 'r2', 1);
      await checkpoint.recordRun(sampleRun('r1'));
      await addChunk(checkpoint, 'r1', 1, 'downloaded');
      await addChunk(checkpoint, 'r1', 2, 'cut');
      await addChunk(checkpoint, 'r1', 3, 'ambiguous');
      await beginUpload(checkpoint, 'r1', 3);
      await checkpoint.recordAmbiguous('r1', 3, 4, 'no-reply');
      await mergeChunk(checkpoint, 'r1', 1, allSuccessful, 100);
      await checkpoint.recordAllCut('r1');
      await addAs(checkpoint, 'r1', samplePicked(4, 1, [3, 4]), 'submitted');
      await checkpoint.recordSplit('r1', 2, sampleHalves(sampleChunk(2)));
      for (const record of [7, 8, 9]) await search(checkpoint, 'r1', record);
      await checkpoint.recordSearchEnd('r1', 8, { state: 'ambiguous' });
      await checkpoint.recordSearchEnd('r1', 9, { state: 'dropped' });
      await use(checkpoint);
    });
  const finish = async (checkpoint: Checkpoint, as: Ended) => {
    if (as === 'withheld') return checkpoint.recordWithheld('r1', sampleWithheld, 8);
    if (as === 'superseded') return checkpoint.recordSuperseded('r1', 8);
    await checkpoint.recordPublishing('r1', samplePublication);
    await checkpoint.recordDone('r1', 8);
  };

  describe('pruning', () => {
    it.each(ended)('forgets the results of a run that is %s', (as) =>
      withRun(async (checkpoint) => {
        await finish(checkpoint, as);
        const before = await checkpoint.run('r1');
        const uploads = await checkpoint.uploads('r1', 0, 10);
        const spending = await checkpoint.spending('nightly', 'r1', '2026-11-21');
        const { uploads: attempts } = await checkpoint.tally('r1');
        const other = await stateOf(checkpoint, 'r2');
        await checkpoint.recordPruned('r1', 99);

        expect(await checkpoint.run('r1')).toEqual({ ...before, prunedAt: 99 });
        for (const chunk of [1, 2, 3, 4, 5, 6]) {
          expect(await checkpoint.chunk('r1', chunk)).toBeUndefined();
          expect(await checkpoint.pickedRecords('r1', chunk)).toBeUndefined();
          expect(await checkpoint.parts('r1', chunk)).toEqual([]);
          expect(await checkpoint.listedParts('r1', chunk)).toEqual([]);
        }
        const searches = await checkpoint.searches('r1', 0, 10);
        expect(searches.map(({ record, values }) => [record, values])).toEqual([
          [7, null],
          [8, null],
          [9, null],
        ]);
        expect(await checkpoint.lastStretch('r1')).toBeUndefined();
        expect(await checkpoint.nextChunk('r1', 0, 0)).toBeUndefined();
        expect(await checkpoint.lastRound('r1')).toBe(0);
        expect(await checkpoint.tally('r1')).toEqual({
          chunks: nothingTallied,
          records: nothingTallied,
          merged: { chunks: 0, records: 0 },
          counts: noRows,
          uploads: attempts,
          searches: { answered: 0, ambiguous: 1 },
          ambiguousRecords: 21,
        });
        expect(attempts).toEqual({ accepted: 2, ambiguous: 2, resubmitted: 1 });

        expect(uploads).toHaveLength(4);
        expect(await checkpoint.uploads('r1', 0, 10)).toEqual(uploads);
        expect(await checkpoint.uploadOf('https://service.test', 'folio-4')).toMatchObject({ chunk: 4 });
        expect(await checkpoint.misreadUpload('r1')).toMatchObject({ chunk: 4 });
        expect(spending.run).toBe(34);
        expect(await checkpoint.spending('nightly', 'r1', '2026-11-21')).toEqual(spending);
        expect(await stateOf(checkpoint, 'r2')).toEqual(other);
      }),
    );

    it('happens once, and to finished runs alone', () =>
      withRun(async (checkpoint) => {
        const prune = () => checkpoint.recordPruned('r1', 99);
        await expectRefused(checkpoint, 'r1', prune, () => checkpoint.recordPruned('r9', 99));
        await checkpoint.recordPublishing('r1', samplePublication);
        await expectRefused(checkpoint, 'r1', prune);
        await checkpoint.recordDone('r1', 9);
        await prune();
        await expectRefused(checkpoint, 'r1', prune);
      }));

    it.each(ended)('ends a run that is %s for good', (as) =>
      withRun(async (checkpoint) => {
        await finish(checkpoint, as);
        await checkpoint.recordPruned('r1', 99);
        const reply = { folio: 'seen', serviceRecords: 10, rehearsal: false };
        await expectRefused(
          checkpoint,
          'r1',
          () => checkpoint.recordPublishing('r1', samplePublication),
          () => checkpoint.recordReopened('r1'),
          () => checkpoint.recordAdopted('r1', 3, reply, 100),
          () => checkpoint.recordCut('r1', sampleChunk(9)),
          () => checkpoint.recordRoundClosed('r1', 1),
          () => beginUpload(checkpoint, 'r1', 3),
          () => search(checkpoint, 'r1', 9),
          () => checkpoint.recordSearchEnd('r1', 7, { state: 'dropped' }),
        );
      }),
    );

    it('leaves the pipeline what it learned', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordUnmerged('r1', 1);
        await checkpoint.recordColumns('r1', ['code'], true);
        const known = await checkpoint.knownColumns('nightly', 'https://service.test');
        await finish(checkpoint, 'done');
        await checkpoint.recordPruned('r1', 99);
        expect(known).toEqual(['code']);
        expect(await checkpoint.knownColumns('nightly', 'https://service.test')).toEqual(['code']);
        expect((await checkpoint.run('r1'))?.prunedAt).toBe(99);
      }));
  });
}
