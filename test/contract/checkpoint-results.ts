/** Contract: from a finished folio to parts on disk, or to a cause. */
import { describe, expect, it } from 'vitest';
import type { ChunkState } from '../../src/checkpoint/checkpoint.js';
import { CheckpointStateError } from '../../src/checkpoint/checkpoint-errors.js';
import { addChunk, mergeChunk } from '../helpers/checkpoint/advance-chunk.js';
import { allSuccessful, samplePart, sampleRun } from '../helpers/checkpoint/samples.js';
import type { WithCheckpoint } from './checkpoint-contract.js';
import { expectEachRefused } from './refuses.js';

export function resultContract(withCheckpoint: WithCheckpoint): void {
  const withChunk = (
    state: ChunkState,
    use: (checkpoint: Parameters<Parameters<WithCheckpoint>[0]>[0]) => Promise<void>,
  ) =>
    withCheckpoint(async (checkpoint) => {
      await checkpoint.recordRun(sampleRun('r1'));
      await addChunk(checkpoint, 'r1', 1, state);
      await use(checkpoint);
    });

  describe('results', () => {
    it('keeps the counts and the listed parts, successful ones first, then by number', () =>
      withChunk('submitted', async (checkpoint) => {
        const counts = { successful: 8, failed: 2 };
        const finished = await checkpoint.recordFinished('r1', 1, counts, [
          { fileStatus: 'FAILED', part: 0 },
          { fileStatus: 'SUCCESSFUL', part: 10 },
          { fileStatus: 'SUCCESSFUL', part: 9 },
        ]);
        expect(finished).toMatchObject({ state: 'finished', counts });
        expect(await checkpoint.chunk('r1', 1)).toEqual(finished);
        expect(await checkpoint.listedParts('r1', 1)).toEqual([
          { fileStatus: 'SUCCESSFUL', part: 9 },
          { fileStatus: 'SUCCESSFUL', part: 10 },
          { fileStatus: 'FAILED', part: 0 },
        ]);
        expect(await checkpoint.parts('r1', 1)).toEqual([]);
      }));

    it('keeps what is stored of a lost folio that is found, as far as it is listed again', () =>
      withChunk('downloaded', async (checkpoint) => {
        await checkpoint.recordUnprocessed('r1', 1, 'FOLIO_LOST');
        await checkpoint.recordFound('r1', 1);
        const listed = [0, 1].map((part) => ({ fileStatus: 'SUCCESSFUL' as const, part }));
        await checkpoint.recordFinished('r1', 1, { successful: 10, failed: 0 }, listed);
        expect(await checkpoint.listedParts('r1', 1)).toEqual(listed);
        expect(await checkpoint.parts('r1', 1)).toEqual([samplePart(0)]);
        await expect(checkpoint.recordDownloaded('r1', 1)).rejects.toThrow(CheckpointStateError);
      }));

    for (const state of ['finished', 'downloaded'] as const) {
      const counts = { successful: 9, failed: 1 };
      const anew = [
        samplePart(0, { sha256: 'again' }),
        samplePart(3, { records: 1 }),
        samplePart(2, { fileStatus: 'FAILED' }),
      ];

      it(`puts what was fetched again in the place of all that a ${state} chunk had`, () =>
        withChunk(state, async (checkpoint) => {
          const swapped = await checkpoint.recordRefetched('r1', 1, counts, anew);
          expect(swapped).toMatchObject({ state: 'downloaded', counts });
          expect(await checkpoint.chunk('r1', 1)).toEqual(swapped);
          expect(await checkpoint.parts('r1', 1)).toEqual(anew);
          expect(await checkpoint.listedParts('r1', 1)).toEqual(
            anew.map(({ fileStatus, part }) => ({ fileStatus, part })),
          );
        }));

      it(`keeps the parts of a ${state} chunk where the refetched ones contain a part twice`, () =>
        withChunk(state, async (checkpoint) => {
          const before = [await checkpoint.chunk('r1', 1), await checkpoint.parts('r1', 1)];
          const twice = checkpoint.recordRefetched('r1', 1, counts, [...anew, samplePart(0)]);
          await expect(twice).rejects.toThrow(CheckpointStateError);
          expect([await checkpoint.chunk('r1', 1), await checkpoint.parts('r1', 1)]).toEqual(before);
        }));
    }

    it('takes the chunk that was fetched again, and those after it, out of the work file', () =>
      withChunk('downloaded', async (checkpoint) => {
        for (const chunk of [2, 3]) await addChunk(checkpoint, 'r1', chunk, 'downloaded');
        for (const chunk of [1, 2, 3]) {
          await mergeChunk(checkpoint, 'r1', chunk, allSuccessful, chunk * 100);
        }
        await checkpoint.recordRefetched('r1', 2, { successful: 10, failed: 0 }, [samplePart(0)]);
        expect(await checkpoint.lastStretch('r1')).toMatchObject({ lastRecord: 10 });
      }));

    it('gives up no chunk whose rows are merged, and each that is beside them', () =>
      withChunk('downloaded', async (checkpoint) => {
        for (const chunk of [2, 3]) await addChunk(checkpoint, 'r1', chunk, 'downloaded');
        await checkpoint.recordRun(sampleRun('r2'));
        await addChunk(checkpoint, 'r2', 1, 'downloaded');
        for (const chunk of [1, 2]) await mergeChunk(checkpoint, 'r1', chunk, allSuccessful, chunk * 100);
        const giveUp = (run: string, chunk: number) => checkpoint.recordUnprocessed(run, chunk, 'DEADLINE');
        for (const chunk of [1, 2]) await expect(giveUp('r1', chunk)).rejects.toThrow(CheckpointStateError);
        await checkpoint.recordUnmerged('r1', 11);
        for (const chunk of [2, 3]) expect(await giveUp('r1', chunk)).toMatchObject({ state: 'unprocessed' });
        expect(await giveUp('r2', 1)).toMatchObject({ state: 'unprocessed' });
      }));

    it('refuses a list with a part twice, and stores none of it', () =>
      withChunk('submitted', async (checkpoint) => {
        const part = { fileStatus: 'SUCCESSFUL', part: 0 } as const;
        const twice = checkpoint.recordFinished('r1', 1, { successful: 10, failed: 0 }, [part, part]);
        await expect(twice).rejects.toThrow(CheckpointStateError);
        expect(await checkpoint.chunk('r1', 1)).toMatchObject({ state: 'submitted', counts: null });
        expect(await checkpoint.listedParts('r1', 1)).toEqual([]);
      }));

    it('stores a part; one that comes twice is the latter', () =>
      withChunk('finished', async (checkpoint) => {
        await checkpoint.recordParts('r1', 1, [samplePart(0, { sha256: 'first' })]);
        await checkpoint.recordParts('r1', 1, [samplePart(0, { sha256: 'second', records: 9 })]);
        expect(await checkpoint.parts('r1', 1)).toEqual([samplePart(0, { sha256: 'second', records: 9 })]);
      }));

    it('stores several parts together, each as it is', () =>
      withChunk('submitted', async (checkpoint) => {
        const stored = [
          samplePart(0, { sha256: 'one' }),
          samplePart(1, { sha256: 'two', bytes: 7, records: 8 }),
          samplePart(1, { fileStatus: 'FAILED' }),
        ];
        const listed = stored.map(({ fileStatus, part }) => ({ fileStatus, part }));
        await checkpoint.recordFinished('r1', 1, { successful: 9, failed: 1 }, listed);
        await checkpoint.recordParts('r1', 1, [stored[2]!, stored[0]!, stored[1]!]);
        expect(await checkpoint.parts('r1', 1)).toEqual(stored);
      }));

    it('refuses a part that was not listed', () =>
      withChunk('finished', async (checkpoint) => {
        const failed = samplePart(0, { fileStatus: 'FAILED' });
        await expect(checkpoint.recordParts('r1', 1, [failed])).rejects.toThrow(CheckpointStateError);
        await expect(checkpoint.recordParts('r1', 1, [samplePart(0), failed])).rejects.toThrow(
          CheckpointStateError,
        );
        expect(await checkpoint.parts('r1', 1)).toEqual([]);
        await expect(checkpoint.recordParts('r1', 1, [samplePart(1)])).rejects.toThrow(CheckpointStateError);
        await expect(checkpoint.recordParts('r1', 2, [samplePart(0)])).rejects.toThrow(CheckpointStateError);
      }));

    it('calls a chunk downloaded once all its listed parts are stored, and again', () =>
      withChunk('finished', async (checkpoint) => {
        await expect(checkpoint.recordDownloaded('r1', 1)).rejects.toThrow(CheckpointStateError);
        await checkpoint.recordParts('r1', 1, [samplePart(0)]);
        const downloaded = await checkpoint.recordDownloaded('r1', 1);
        expect(downloaded.state).toBe('downloaded');
        expect(await checkpoint.recordDownloaded('r1', 1)).toEqual(downloaded);
        expect(await checkpoint.chunk('r1', 1)).toEqual(downloaded);
      }));

    it('keeps the parts of a chunk that is given up', () =>
      withChunk('downloaded', async (checkpoint) => {
        await checkpoint.recordUnprocessed('r1', 1, 'FOLIO_LOST');
        expect(await checkpoint.parts('r1', 1)).toEqual([samplePart(0)]);
      }));

    for (const state of ['cut', 'ambiguous', 'submitted', 'finished', 'downloaded'] as const) {
      it(`gives up a chunk that is ${state}, with its cause`, () =>
        withChunk(state, async (checkpoint) => {
          const givenUp = await checkpoint.recordUnprocessed('r1', 1, 'FOLIO_LOST');
          expect(givenUp).toMatchObject({ state: 'unprocessed', cause: 'FOLIO_LOST' });
          expect(await checkpoint.chunk('r1', 1)).toEqual(givenUp);
        }));
    }

    const refusedBy: Readonly<Record<string, readonly string[]>> = {
      cut: ['part', 'download', 'list', 'refetch', 'find'],
      uploading: ['part', 'download', 'list', 'refetch', 'find', 'give up'],
      ambiguous: ['part', 'download', 'list', 'refetch', 'find'],
      submitted: ['part', 'download', 'refetch', 'find'],
      finished: ['list', 'find'],
      downloaded: ['part', 'list', 'find'],
      unprocessed: ['part', 'download', 'list', 'refetch', 'find', 'give up'],
      refused: ['part', 'download', 'list', 'refetch', 'find', 'give up'],
      split: ['part', 'download', 'list', 'refetch', 'find', 'give up'],
    };
    it.each(Object.entries(refusedBy))('takes of a chunk that is %s what it may have', (state, refused) =>
      withChunk(state as ChunkState, async (checkpoint) => {
        const calls = {
          part: () => checkpoint.recordParts('r1', 1, [samplePart(0)]),
          download: () => checkpoint.recordDownloaded('r1', 1),
          list: () => checkpoint.recordFinished('r1', 1, { successful: 10, failed: 0 }, []),
          refetch: () => checkpoint.recordRefetched('r1', 1, { successful: 10, failed: 0 }, []),
          find: () => checkpoint.recordFound('r1', 1),
          'give up': () => checkpoint.recordUnprocessed('r1', 1, 'AMBIGUOUS_HELD'),
        };
        const isRefused = ([name]: [string, unknown]) => refused.includes(name);
        await expectEachRefused(
          checkpoint,
          'r1',
          Object.fromEntries(Object.entries(calls).filter(isRefused)),
        );
      }),
    );
  });
}
