/** Contract: from a finished folio to parts on disk, or to a cause. */
import { describe, expect, it } from 'vitest';
import type { ChunkState } from '../../src/checkpoint/checkpoint.js';
import { CheckpointStateError } from '../../src/checkpoint/checkpoint-state-error.js';
import { addChunk } from '../helpers/advance-chunk.js';
import { allSuccessful, samplePart, sampleRun } from '../helpers/checkpoint-samples.js';
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

    for (const state of ['finished', 'downloaded'] as const) {
      it(`forgets the parts of a ${state} chunk that is listed anew, until it is merged`, () =>
        withChunk(state, async (checkpoint) => {
          await checkpoint.recordPart('r1', 1, samplePart(0));
          const counts = { successful: 9, failed: 1 };
          const anew = [
            { fileStatus: 'SUCCESSFUL' as const, part: 0 },
            { fileStatus: 'SUCCESSFUL' as const, part: 1 },
          ];
          await checkpoint.recordFinished('r1', 1, counts, anew);
          expect(await checkpoint.chunk('r1', 1)).toMatchObject({ state: 'finished', counts });
          expect(await checkpoint.listedParts('r1', 1)).toEqual(anew);
          expect(await checkpoint.parts('r1', 1)).toEqual([]);
          for (const part of [0, 1]) await checkpoint.recordPart('r1', 1, samplePart(part));
          await checkpoint.recordDownloaded('r1', 1);
          await checkpoint.recordMerged('r1', 1, allSuccessful, 100, 'f00d');
          await expect(checkpoint.recordFinished('r1', 1, counts, anew)).rejects.toThrow(
            CheckpointStateError,
          );
        }));
    }

    it('refuses a part that is listed twice, and keeps nothing of that list', () =>
      withChunk('submitted', async (checkpoint) => {
        const part = { fileStatus: 'SUCCESSFUL', part: 0 } as const;
        const twice = checkpoint.recordFinished('r1', 1, { successful: 10, failed: 0 }, [part, part]);
        await expect(twice).rejects.toThrow(CheckpointStateError);
        expect(await checkpoint.chunk('r1', 1)).toMatchObject({ state: 'submitted', counts: null });
        expect(await checkpoint.listedParts('r1', 1)).toEqual([]);
      }));

    it('stores a part, and replaces it when it was fetched again', () =>
      withChunk('finished', async (checkpoint) => {
        await checkpoint.recordPart('r1', 1, samplePart(0, { sha256: 'first' }));
        await checkpoint.recordPart('r1', 1, samplePart(0, { sha256: 'second', records: 9 }));
        expect(await checkpoint.parts('r1', 1)).toEqual([samplePart(0, { sha256: 'second', records: 9 })]);
      }));

    it('replaces a part of a downloaded chunk', () =>
      withChunk('downloaded', async (checkpoint) => {
        await checkpoint.recordPart('r1', 1, samplePart(0, { sha256: 'again' }));
        expect(await checkpoint.parts('r1', 1)).toEqual([samplePart(0, { sha256: 'again' })]);
      }));

    it('refuses a part that was not listed', () =>
      withChunk('finished', async (checkpoint) => {
        const failed = samplePart(0, { fileStatus: 'FAILED' });
        await expect(checkpoint.recordPart('r1', 1, failed)).rejects.toThrow(CheckpointStateError);
        await expect(checkpoint.recordPart('r1', 1, samplePart(1))).rejects.toThrow(CheckpointStateError);
        await expect(checkpoint.recordPart('r1', 2, samplePart(0))).rejects.toThrow(CheckpointStateError);
      }));

    it('calls a chunk downloaded once all its listed parts are stored, and again', () =>
      withChunk('finished', async (checkpoint) => {
        await expect(checkpoint.recordDownloaded('r1', 1)).rejects.toThrow(CheckpointStateError);
        await checkpoint.recordPart('r1', 1, samplePart(0));
        const downloaded = await checkpoint.recordDownloaded('r1', 1);
        expect(downloaded.state).toBe('downloaded');
        expect(await checkpoint.recordDownloaded('r1', 1)).toEqual(downloaded);
        expect(await checkpoint.chunk('r1', 1)).toEqual(downloaded);
      }));

    for (const state of ['cut', 'ambiguous', 'submitted', 'finished', 'downloaded'] as const) {
      it(`gives up a chunk that is ${state}, with its cause`, () =>
        withChunk(state, async (checkpoint) => {
          const givenUp = await checkpoint.recordUnprocessed('r1', 1, 'FOLIO_LOST');
          expect(givenUp).toMatchObject({ state: 'unprocessed', cause: 'FOLIO_LOST' });
          expect(await checkpoint.chunk('r1', 1)).toEqual(givenUp);
        }));
    }

    const refusedBy: Readonly<Record<string, readonly ('list' | 'give up')[]>> = {
      cut: ['list'],
      uploading: ['list', 'give up'],
      ambiguous: ['list'],
      submitted: [],
      unprocessed: ['list', 'give up'],
      refused: ['list', 'give up'],
      split: ['list', 'give up'],
    };
    it.each(Object.entries(refusedBy))('takes no results of a chunk that is %s', (state, more) =>
      withChunk(state as ChunkState, async (checkpoint) => {
        const calls = {
          part: () => checkpoint.recordPart('r1', 1, samplePart(0)),
          download: () => checkpoint.recordDownloaded('r1', 1),
          list: () => checkpoint.recordFinished('r1', 1, { successful: 10, failed: 0 }, []),
          'give up': () => checkpoint.recordUnprocessed('r1', 1, 'AMBIGUOUS_HELD'),
        };
        const isRefused = ([name]: [string, unknown]) => ['part', 'download', ...more].includes(name);
        await expectEachRefused(
          checkpoint,
          'r1',
          Object.fromEntries(Object.entries(calls).filter(isRefused)),
        );
      }),
    );
  });
}
