/** Contract: what was paid for, and the caps that a paid request must not pass. */
import { describe, expect, it } from 'vitest';
import type { Budget, Checkpoint } from '../../src/checkpoint/checkpoint.js';
import { addChunk, beginUpload, sampleReply, withSampleRun } from '../helpers/checkpoint/advance-chunk.js';
import { sampleBudget, sampleChunk, sampleHalves, sampleRun } from '../helpers/checkpoint/samples.js';
import type { WithCheckpoint } from './checkpoint-contract.js';
import { stateOf } from './refuses.js';

export function budgetContract(withCheckpoint: WithCheckpoint): void {
  const withRun = withSampleRun(withCheckpoint);
  const on = (day: string, caps: Partial<Budget> = {}) => sampleBudget({ day, ...caps });
  /** Of the run, of the day and of its month. */
  const spent = async (checkpoint: Checkpoint, run: string | null, day: string, pipeline = 'nightly') => {
    const spending = await checkpoint.spending(pipeline, run, day);
    return [spending.run, spending.day, spending.month];
  };
  /** The cap that the call passes, the run being the same after it. */
  const capPassed = async (checkpoint: Checkpoint, run: string, call: () => Promise<unknown>) => {
    const before = await stateOf(checkpoint, run);
    const error = await call().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ name: 'GuardError', code: 'BUDGET_REACHED' });
    expect(await stateOf(checkpoint, run)).toEqual(before);
    return (error as { facts: { cap?: unknown } }).facts.cap;
  };

  describe('spending', () => {
    it('is nothing before the first intent', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'cut');
        expect(await spent(checkpoint, 'r1', '2026-11-21')).toEqual([0, 0, 0]);
        expect(await spent(checkpoint, 'r2', '2026-11-21', 'other')).toEqual([0, 0, 0]);
      }));

    it('counts what was and may have been accepted, from the intent on', () =>
      withRun(async (checkpoint) => {
        const day = '2026-11-21';
        for (const chunk of [1, 2, 3]) await addChunk(checkpoint, 'r1', chunk, 'cut');
        for (const chunk of [1, 2, 3]) await beginUpload(checkpoint, 'r1', chunk, 1, on(day));
        expect(await spent(checkpoint, 'r1', day)).toEqual([30, 30, 30]);
        await checkpoint.recordAccepted('r1', 1, sampleReply(1), 2);
        await checkpoint.recordAmbiguous('r1', 2, 2, 'no-reply');
        expect(await checkpoint.recordInterrupted('r1')).toBe(1);
        expect(await spent(checkpoint, 'r1', day)).toEqual([30, 30, 30]);
        await beginUpload(checkpoint, 'r1', 2, 3, on(day));
        expect(await spent(checkpoint, 'r1', day)).toEqual([40, 40, 40]);
      }));

    it('gives back what was dropped, on the day of its intent', () =>
      withRun(async (checkpoint) => {
        for (const chunk of [1, 2]) await addChunk(checkpoint, 'r1', chunk, 'cut');
        await beginUpload(checkpoint, 'r1', 1, 1, on('2026-10-31'));
        await beginUpload(checkpoint, 'r1', 2, 1, on('2026-11-01'));
        await checkpoint.recordDropped('r1', 1, 2);
        expect(await spent(checkpoint, 'r1', '2026-10-31')).toEqual([10, 0, 0]);
        expect(await spent(checkpoint, 'r1', '2026-11-01')).toEqual([10, 10, 10]);
        await beginUpload(checkpoint, 'r1', 1, 3, on('2026-11-02'));
        expect(await spent(checkpoint, 'r1', '2026-11-02')).toEqual([20, 10, 20]);
        expect(await spent(checkpoint, 'r1', '2026-11-30')).toEqual([20, 0, 20]);
      }));

    it('counts searches as one record each, dropped ones not', () =>
      withRun(async (checkpoint) => {
        for (const record of [3, 4, 5])
          await checkpoint.recordSearchIntent('r1', record, 1, on('2026-11-20'));
        expect(await spent(checkpoint, 'r1', '2026-11-20')).toEqual([3, 3, 3]);
        await checkpoint.recordSearchEnd('r1', 3, { state: 'answered', values: null });
        await checkpoint.recordSearchEnd('r1', 4, { state: 'dropped' });
        await checkpoint.recordSearchEnd('r1', 5, { state: 'ambiguous' });
        expect(await spent(checkpoint, 'r1', '2026-11-20')).toEqual([2, 2, 2]);
        await checkpoint.recordSearchIntent('r1', 4, 2, on('2026-11-21'));
        expect(await spent(checkpoint, 'r1', '2026-11-20')).toEqual([3, 2, 3]);
        expect(await spent(checkpoint, 'r1', '2026-11-21')).toEqual([3, 1, 3]);
        await checkpoint.recordSearchEnd('r1', 4, { state: 'dropped' });
        expect(await spent(checkpoint, 'r1', '2026-11-21')).toEqual([2, 0, 2]);
      }));

    it('counts a day and a month over all runs of the pipeline, and of no other', () =>
      withRun(async (checkpoint) => {
        const day = '2026-11-21';
        await checkpoint.recordRun(sampleRun('r2', { service: 'https://elsewhere.test' }));
        await checkpoint.recordRun(sampleRun('r3', { pipeline: 'other' }));
        for (const run of ['r1', 'r2', 'r3']) {
          await addChunk(checkpoint, run, 1, 'cut');
          await beginUpload(checkpoint, run, 1, 1, on(day));
        }
        expect(await spent(checkpoint, 'r1', day)).toEqual([10, 20, 20]);
        expect(await spent(checkpoint, null, day)).toEqual([0, 20, 20]);
        expect(await spent(checkpoint, 'r3', day, 'other')).toEqual([10, 10, 10]);
        expect(await spent(checkpoint, null, '2025-11-21')).toEqual([0, 0, 0]);
      }));

    it('of a chunk stays when it is split or given up', () =>
      withRun(async (checkpoint) => {
        for (const chunk of [1, 2]) await addChunk(checkpoint, 'r1', chunk, 'ambiguous');
        await checkpoint.recordSplit('r1', 1, sampleHalves(sampleChunk(1)));
        await checkpoint.recordUnprocessed('r1', 2, 'AMBIGUOUS_HELD');
        await checkpoint.recordSuperseded('r1', 9);
        expect(await spent(checkpoint, 'r1', '2026-11-21')).toEqual([20, 20, 20]);
      }));
  });

  describe('budget', () => {
    it('lets a cap be reached and not passed, upload by upload', () =>
      withRun(async (checkpoint) => {
        for (const chunk of [1, 2, 3]) await addChunk(checkpoint, 'r1', chunk, 'cut');
        const caps = on('2026-11-21', { perRun: 20 });
        for (const chunk of [1, 2]) await beginUpload(checkpoint, 'r1', chunk, 1, caps);
        const third = () => beginUpload(checkpoint, 'r1', 3, 1, caps);
        expect(await capPassed(checkpoint, 'r1', third)).toBe('perRun');
        expect((await checkpoint.chunk('r1', 3))?.state).toBe('cut');
        await checkpoint.recordDropped('r1', 1, 2);
        expect(await third()).toMatchObject({ attempt: 1 });
        expect(await capPassed(checkpoint, 'r1', () => beginUpload(checkpoint, 'r1', 1, 1, caps))).toBe(
          'perRun',
        );
      }));

    it('applies to an ambiguous chunk that is sent again', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'ambiguous');
        const again = (perRun: number) => () =>
          beginUpload(checkpoint, 'r1', 1, 3, on('2026-11-21', { perRun }));
        expect(await capPassed(checkpoint, 'r1', again(19))).toBe('perRun');
        expect(await again(20)()).toMatchObject({ attempt: 2 });
      }));

    it('names the cap of the day or of the month, over all runs of the pipeline', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r2'));
        await checkpoint.recordRun(sampleRun('r3', { pipeline: 'other', service: 'https://elsewhere.test' }));
        for (const run of ['r1', 'r2', 'r3']) await addChunk(checkpoint, run, 1, 'cut');
        await beginUpload(checkpoint, 'r1', 1, 1, on('2026-11-20'));
        const send = (run: string, day: string, caps: Partial<Budget>) => () =>
          beginUpload(checkpoint, run, 1, 1, on(day, caps));
        expect(await capPassed(checkpoint, 'r2', send('r2', '2026-11-20', { perDay: 19 }))).toBe('perDay');
        expect(await capPassed(checkpoint, 'r2', send('r2', '2026-11-21', { perDay: 9 }))).toBe('perDay');
        const month = { perRun: 10, perDay: 10, perMonth: 19 };
        expect(await capPassed(checkpoint, 'r2', send('r2', '2026-11-21', month))).toBe('perMonth');
        await send('r3', '2026-11-20', { perRun: 10, perDay: 10, perMonth: 10 })();
        await send('r2', '2026-12-01', month)();
        expect(await spent(checkpoint, 'r2', '2026-12-01')).toEqual([10, 10, 10]);
      }));

    it('applies to searches, as one record each', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'submitted');
        const search = (record: number, caps: Partial<Budget>) => () =>
          checkpoint.recordSearchIntent('r1', record, 1, on('2026-11-21', caps));
        for (const cap of ['perRun', 'perDay', 'perMonth'] as const) {
          expect(await capPassed(checkpoint, 'r1', search(3, { [cap]: 10 }))).toBe(cap);
        }
        await search(3, { perRun: 11, perDay: 11, perMonth: 11 })();
        expect(await capPassed(checkpoint, 'r1', search(4, { perRun: 11 }))).toBe('perRun');
        await checkpoint.recordSearchEnd('r1', 3, { state: 'dropped' });
        await search(4, { perRun: 11 })();
      }));

    it('refuses every request where a cap is zero', () =>
      withRun(async (checkpoint) => {
        await addChunk(checkpoint, 'r1', 1, 'cut');
        const none = on('2026-11-21', { perRun: 0 });
        expect(await capPassed(checkpoint, 'r1', () => beginUpload(checkpoint, 'r1', 1, 1, none))).toBe(
          'perRun',
        );
      }));
  });
}
