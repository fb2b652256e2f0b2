/** Contract: the rows of stored answers, and what was spent day by day. */
import { describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../src/checkpoint/checkpoint.js';
import { addChunk, beginUpload, sampleReply } from '../helpers/checkpoint/advance-chunk.js';
import { sampleBudget, sampleRun, sampleSegment } from '../helpers/checkpoint/samples.js';
import type { WithCheckpoint } from './checkpoint-contract.js';

export function segmentContract(withCheckpoint: WithCheckpoint): void {
  const idsOf = async (checkpoint: Checkpoint) => (await checkpoint.segments()).map(({ id }) => id);

  describe('segments', () => {
    it('come with the newest answers first, and replace those of the same run', () =>
      withCheckpoint(async (checkpoint) => {
        const at = (id: string, run: string, newest: number) => sampleSegment(id, run, newest);
        expect(await idsOf(checkpoint)).toEqual([]);
        await checkpoint.recordSegment(at('r1-1', 'r1', 5));
        await checkpoint.recordSegment(at('import-2-1', 'import-2', 9));
        await checkpoint.recordSegment(at('r3-1', 'r3', 5));
        expect(await idsOf(checkpoint)).toEqual(['import-2-1', 'r3-1', 'r1-1']);
        const newer = at('r1-2', 'r1', 7);
        await checkpoint.recordSegment(newer);
        expect(await idsOf(checkpoint)).toEqual(['import-2-1', 'r1-2', 'r3-1']);
        expect((await checkpoint.segments())[1]).toEqual(newer);
      }));

    it('replace a named one only while it is there', () =>
      withCheckpoint(async (checkpoint) => {
        const of = (id: string) => sampleSegment(id, 'r1', 1);
        await checkpoint.recordSegment(of('r1-1'));
        expect(await checkpoint.recordSegment(of('r1-2'), 'r1-1')).toBe(true);
        expect(await checkpoint.recordSegment(of('r1-3'), 'r1-1')).toBe(false);
        expect(await idsOf(checkpoint)).toEqual(['r1-2']);
      }));

    it('are forgotten by their ids, also such as are not there', () =>
      withCheckpoint(async (checkpoint) => {
        for (const run of ['r1', 'r2', 'r3'])
          await checkpoint.recordSegment(sampleSegment(`${run}-1`, run, 1));
        await checkpoint.recordSegmentsForgotten(['r1-1', 'none', 'r3-1']);
        await checkpoint.recordSegmentsForgotten([]);
        expect(await idsOf(checkpoint)).toEqual(['r2-1']);
      }));
  });

  describe('spending by day', () => {
    it('has each day with what was paid, from a day on, without rehearsals', () =>
      withCheckpoint(async (checkpoint) => {
        const spend = async (run: string, chunk: number, day: string, local: boolean) => {
          await addChunk(checkpoint, run, chunk, 'cut');
          await beginUpload(checkpoint, run, chunk, 1, sampleBudget({ day }));
          await checkpoint.recordAccepted(run, chunk, { ...sampleReply(chunk), rehearsal: local }, 1);
        };
        for (const id of ['r1', 'r2']) await checkpoint.recordRun(sampleRun(id));
        await spend('r1', 1, '2026-11-21', false);
        await spend('r1', 2, '2026-11-23', false);
        await spend('r2', 1, '2026-11-22', true);
        // Nothing is left of a day whose upload was not accepted.
        await addChunk(checkpoint, 'r1', 3, 'cut');
        await beginUpload(checkpoint, 'r1', 3, 1, sampleBudget({ day: '2026-11-20' }));
        await checkpoint.recordDropped('r1', 3, 2);
        // Searches of a local service cost their own pipeline nothing, and no other one.
        for (const pipeline of ['nightly', 'other']) {
          const search = { id: pipeline, pipeline, service: 's', startedAt: 7 };
          await checkpoint.recordSingleSearchIntent(search, sampleBudget({ day: '2026-11-21' }));
          await checkpoint.recordSingleSearchEnd(pipeline, { state: 'answered', local: true });
        }
        expect(await checkpoint.spendingByDay('nightly', '2026-11-01')).toEqual([
          { day: '2026-11-21', records: 10 },
          { day: '2026-11-23', records: 10 },
        ]);
        expect(await checkpoint.spendingByDay('nightly', '2026-11-21')).toEqual(
          await checkpoint.spendingByDay('nightly', '2026-11-01'),
        );
        expect(await checkpoint.spendingByDay('nightly', '2026-11-22')).toHaveLength(1);
        expect(await checkpoint.spendingByDay('other', '2026-11-01')).toEqual([]);
      }));
  });
}
