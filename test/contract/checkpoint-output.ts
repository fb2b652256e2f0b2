/** Contract: columns, join and merged chunks. */
import { describe, expect, it } from 'vitest';
import { CheckpointStateError } from '../../src/checkpoint/checkpoint-errors.js';
import { noRows } from '../../src/results/row-counts.js';
import { addAs, addChunk, advanceChunk, mergeChunk } from '../helpers/checkpoint/advance-chunk.js';
import {
  allSuccessful,
  allUnprocessed,
  sampleChunk,
  sampleHalves,
  samplePicked,
  sampleRun,
} from '../helpers/checkpoint/samples.js';
import type { WithCheckpoint } from './checkpoint-contract.js';
import { expectRefused } from './refuses.js';

export function outputContract(withCheckpoint: WithCheckpoint): void {
  const withRun: WithCheckpoint = (use) =>
    withCheckpoint(async (checkpoint) => {
      await checkpoint.recordRun(sampleRun('r1'));
      await addChunk(checkpoint, 'r1', 1, 'downloaded');
      await addChunk(checkpoint, 'r1', 2, 'unprocessed');
      await addChunk(checkpoint, 'r1', 3, 'finished');
      await use(checkpoint);
    });

  describe('columns and join', () => {
    it('keeps learned columns for the pipeline on this service, others for the run alone', () =>
      withRun(async (checkpoint) => {
        const known = (service: string) => checkpoint.knownColumns('nightly', service);
        await checkpoint.recordColumns('r1', ['code'], false);
        expect((await checkpoint.run('r1'))?.columns).toEqual(['code']);
        expect(await known('https://service.test')).toBeUndefined();
        await checkpoint.recordColumns('r1', ['code', 'title'], true);
        expect((await checkpoint.run('r1'))?.columns).toEqual(['code', 'title']);
        expect(await known('https://service.test')).toEqual(['code', 'title']);
        expect(await known('https://elsewhere.test')).toBeUndefined();
        expect(await checkpoint.knownColumns('other', 'https://service.test')).toBeUndefined();
      }));

    it('refuses other columns once a chunk is merged under the old ones', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordColumns('r1', ['code'], true);
        await mergeChunk(checkpoint, 'r1', 1, allSuccessful, 100);
        await checkpoint.recordColumns('r1', ['code'], true);
        const other = checkpoint.recordColumns('r1', ['title'], true);
        await expect(other).rejects.toThrow(CheckpointStateError);
        expect(await checkpoint.knownColumns('nightly', 'https://service.test')).toEqual(['code']);
        await checkpoint.recordUnmerged('r1', 1);
        await checkpoint.recordColumns('r1', ['title'], true);
        expect(await checkpoint.knownColumns('nightly', 'https://service.test')).toEqual(['title']);
      }));

    it('adds columns behind those of the run, and unmerges all rows', () =>
      withRun(async (checkpoint) => {
        const added = (columns: readonly string[]) => checkpoint.recordColumnsAdded('r1', columns);
        await expect(added(['code', 'title'])).rejects.toThrow(CheckpointStateError);
        await checkpoint.recordColumns('r1', ['code'], false);
        await mergeChunk(checkpoint, 'r1', 1, allSuccessful, 100);
        for (const columns of [[], ['code'], ['title'], ['title', 'code'], ['codes', 'title']]) {
          await expect(added(columns)).rejects.toThrow(CheckpointStateError);
        }
        expect((await checkpoint.lastStretch('r1'))?.workEnd).toBe(100);
        expect(await checkpoint.knownColumns('nightly', 'https://service.test')).toBeUndefined();

        await added(['code', 'a "quoted", one']);
        await added(['code', 'a "quoted", one', 'title', 'more']);
        const all = ['code', 'a "quoted", one', 'title', 'more'];
        expect((await checkpoint.run('r1'))?.columns).toEqual(all);
        expect(await checkpoint.knownColumns('nightly', 'https://service.test')).toEqual(all);
        expect(await checkpoint.lastStretch('r1')).toBeUndefined();
        await mergeChunk(checkpoint, 'r1', 1, allSuccessful, 120);
        await expect(checkpoint.recordColumnsAdded('r9', all)).rejects.toThrow(CheckpointStateError);
      }));

    it('fixes one way to join', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordJoin('r1', { by: 'key', column: 'record_id', judged: null });
        await checkpoint.recordJoin('r1', { judged: null, column: 'record_id', by: 'key' });
        expect((await checkpoint.run('r1'))?.join).toEqual({ by: 'key', column: 'record_id', judged: null });
        const weaker = checkpoint.recordJoin('r1', { by: 'echo', columns: ['name'], judged: null });
        await expect(weaker).rejects.toThrow(CheckpointStateError);
        const other = checkpoint.recordJoin('r1', { by: 'key', column: 'id', judged: null });
        await expect(other).rejects.toThrow(CheckpointStateError);
      }));

    it('lets what is judged of the columns that come back grow', () =>
      withRun(async (checkpoint) => {
        const way = { by: 'echo', columns: ['name', 'state'] } as const;
        const kinds = { SUCCESSFUL: { name: 'exact' }, FAILED: {} } as const;
        const judged = { kinds, isProven: false, declared: null };
        await checkpoint.recordJoin('r1', { ...way, judged: null });
        await checkpoint.recordJoin('r1', { ...way, judged });
        const grown = {
          ...judged,
          isProven: true,
          kinds: { ...kinds, FAILED: { state: 'answer' } },
        } as const;
        await checkpoint.recordJoin('r1', { ...way, judged: grown });
        expect((await checkpoint.run('r1'))?.join).toEqual({ ...way, judged: grown });
        const fewer = checkpoint.recordJoin('r1', { by: 'echo', columns: ['name'], judged: grown });
        await expect(fewer).rejects.toThrow(CheckpointStateError);
      }));

    it('forgets join and columns, the learned ones too, and no chunk is merged', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordJoin('r1', { by: 'key', column: 'record_id', judged: null });
        await checkpoint.recordColumns('r1', ['code'], true);
        await mergeChunk(checkpoint, 'r1', 1, allSuccessful, 100);
        await checkpoint.recordUnjoined('r1');
        expect(await checkpoint.run('r1')).toMatchObject({ join: null, columns: null });
        expect(await checkpoint.knownColumns('nightly', 'https://service.test')).toBeUndefined();
        expect(await checkpoint.lastStretch('r1')).toBeUndefined();
        await checkpoint.recordJoin('r1', { by: 'echo', columns: ['name'], judged: null });
        await checkpoint.recordColumns('r1', ['title'], true);
        await expect(checkpoint.recordUnjoined('r9')).rejects.toThrow(CheckpointStateError);
      }));

    it('fixes no columns while rows without any stand in the work file', () =>
      withRun(async (checkpoint) => {
        await mergeChunk(checkpoint, 'r1', 1, allSuccessful, 100);
        await expect(checkpoint.recordColumns('r1', ['code'], true)).rejects.toThrow(CheckpointStateError);
      }));
  });

  describe('merge', () => {
    it('merges chunks in order, each once', () =>
      withRun(async (checkpoint) => {
        const refused = (chunk: number) =>
          expect(mergeChunk(checkpoint, 'r1', chunk, allUnprocessed, 200)).rejects.toThrow(
            CheckpointStateError,
          );
        expect(await checkpoint.lastStretch('r1')).toBeUndefined();
        await refused(2);
        await mergeChunk(checkpoint, 'r1', 1, { ...allSuccessful, indistinct: 2 }, 100);
        await refused(1);
        await mergeChunk(checkpoint, 'r1', 2, allUnprocessed, 200);
        await refused(3);
        expect(await checkpoint.lastStretch('r1')).toMatchObject({
          lastRecord: 20,
          workEnd: 200,
          counts: allUnprocessed,
        });
        const tally = await checkpoint.tally('r1');
        expect(tally.merged).toEqual({ chunks: 2, records: 20 });
        expect(tally.counts).toEqual({ ...noRows, successful: 10, unprocessed: 10, indistinct: 2 });
      }));

    it('merges records without a chunk in a stretch of their own, and counts those that are skipped', () =>
      withRun(async (checkpoint) => {
        await checkpoint.recordUnmerged('r1', 1);
        await mergeChunk(checkpoint, 'r1', 1, { ...noRows, successful: 7, failed: 3, skipped: 2 }, 100);
        await mergeChunk(checkpoint, 'r1', 2, allUnprocessed, 200);
        const { firstRecord, end } = (await checkpoint.chunk('r1', 3))!;
        const merge = (first: number, last: number) =>
          checkpoint.recordMerged('r1', {
            ...{ firstRecord: first, lastRecord: last, records: last - first + 1, end, sha256: null },
            counts: { ...noRows, failed: last - first + 1, skipped: last - first + 1 },
            workEnd: 300,
          });
        // The third chunk is not answered yet.
        await expectRefused(checkpoint, 'r1', () => merge(firstRecord, firstRecord));
        const counts = { ...noRows, successful: 7, failed: 3, unprocessed: 10, skipped: 2 };
        expect((await checkpoint.tally('r1')).counts).toEqual(counts);
        expect((await checkpoint.nextStretch('r1', 0))?.counts.skipped).toBe(2);
      }));

    it('merges blank records before the first chunk and behind the last', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r1'));
        const blank = (firstRecord: number, lastRecord: number, workEnd: number) => {
          const records = lastRecord - firstRecord + 1;
          const counts = { ...noRows, failed: records, skipped: records };
          const end = { file: 0, offset: 9 };
          return checkpoint.recordMerged('r1', {
            firstRecord,
            lastRecord,
            records,
            end,
            counts,
            workEnd,
            sha256: null,
          });
        };
        await blank(1, 3, 30);
        await blank(4, 8, 80);
        await expectRefused(checkpoint, 'r1', () => blank(8, 9, 90));
        const { counts, merged } = await checkpoint.tally('r1');
        expect([merged, counts.skipped]).toEqual([{ chunks: 0, records: 8 }, 8]);
        await checkpoint.recordUnmerged('r1', 4);
        expect((await checkpoint.tally('r1')).counts.skipped).toBe(3);
      }));

    it('refuses counts that do not add up to the records of the chunk', () =>
      withRun(async (checkpoint) => {
        const short = mergeChunk(checkpoint, 'r1', 1, { ...allSuccessful, successful: 9 }, 100);
        await expect(short).rejects.toThrow(CheckpointStateError);
        expect(await checkpoint.lastStretch('r1')).toBeUndefined();
      }));

    it('takes stretches that end at a record or after it out of the work file', () =>
      withRun(async (checkpoint) => {
        await mergeChunk(checkpoint, 'r1', 1, allSuccessful, 100);
        await mergeChunk(checkpoint, 'r1', 2, allUnprocessed, 200);
        await checkpoint.recordUnmerged('r1', 21);
        expect((await checkpoint.lastStretch('r1'))?.lastRecord).toBe(20);
        await checkpoint.recordUnmerged('r1', 20);
        expect((await checkpoint.lastStretch('r1'))?.lastRecord).toBe(10);
        await mergeChunk(checkpoint, 'r1', 2, allUnprocessed, 220);
        expect((await checkpoint.lastStretch('r1'))?.workEnd).toBe(220);
      }));

    it('follows the order of the source, not of the numbers', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r1'));
        const records = { firstRecord: 1, lastRecord: 20, records: 20 };
        await addAs(checkpoint, 'r1', sampleChunk(1, records), 'cut');
        await addAs(checkpoint, 'r1', sampleChunk(3), 'downloaded');
        await checkpoint.recordSplit('r1', 1, sampleHalves(records));
        for (const chunk of [3, 4]) await advanceChunk(checkpoint, 'r1', chunk, 'downloaded');
        const merge = (chunk: number, end: number) => mergeChunk(checkpoint, 'r1', chunk, allSuccessful, end);
        await expectRefused(checkpoint, 'r1', ...[4, 2].map((chunk) => () => merge(chunk, 100)));
        await merge(3, 100);
        await expectRefused(checkpoint, 'r1', () => merge(2, 200));
        await merge(4, 200);
        await merge(2, 300);
        const last = async (before?: number) => (await checkpoint.lastStretch('r1', before))?.lastRecord;
        expect(await last()).toBe(30);
        expect(await last(22)).toBe(30);
        expect(await last(21)).toBe(20);
        expect(await last(11)).toBe(10);
        expect(await last(1)).toBeUndefined();
        await checkpoint.recordUnmerged('r1', 11);
        expect(await last()).toBe(10);
      }));

    it('takes the record of a refused chunk, once', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r1'));
        await addChunk(checkpoint, 'r1', 1, 'refused');
        await checkpoint.recordAllCut('r1');
        await addAs(checkpoint, 'r1', samplePicked(2, 1, [1]), 'downloaded');
        const failed = { ...noRows, failed: 1 };
        await mergeChunk(checkpoint, 'r1', 1, failed, 50);
        await expectRefused(
          checkpoint,
          'r1',
          () => mergeChunk(checkpoint, 'r1', 1, failed, 50),
          () => checkpoint.recordUnprocessed('r1', 1, 'DEADLINE'),
        );
        expect((await checkpoint.tally('r1')).counts).toEqual(failed);
      }));

    it('passes over a split chunk, whose halves take its place', () =>
      withCheckpoint(async (checkpoint) => {
        await checkpoint.recordRun(sampleRun('r1'));
        await addChunk(checkpoint, 'r1', 1, 'split');
        await addChunk(checkpoint, 'r1', 2, 'unprocessed');
        const half = { ...noRows, unprocessed: 5 };
        for (const chunk of [2, 3]) await checkpoint.recordUnprocessed('r1', chunk, 'DEADLINE');
        const merge = (chunk: number, end: number) =>
          mergeChunk(checkpoint, 'r1', chunk, chunk === 4 ? allUnprocessed : half, end);
        await expectRefused(checkpoint, 'r1', ...[1, 3, 4].map((chunk) => () => merge(chunk, 50)));
        await merge(2, 50);
        await expectRefused(checkpoint, 'r1', ...[1, 4].map((chunk) => () => merge(chunk, 50)));
        await merge(3, 100);
        await merge(4, 200);
        expect((await checkpoint.tally('r1')).merged).toEqual({ chunks: 3, records: 20 });
      }));
  });
}
