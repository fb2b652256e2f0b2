/** Which ages a prune that nobody has asked for goes by, and answers that are taken out by two processes at once. */
import { expect, it } from 'vitest';
import { createLocalAnswerStore } from '../../../src/reuse/local-answer-store.js';
import { agesOf, type DropAnswersContext, dropAnswers } from '../../../src/run/answers/prune-answers.js';
import { sampleChoice } from '../../helpers/checkpoint/samples.js';
import { withFolder } from '../../helpers/folders/folders.js';
import { createMemoryCheckpoint } from '../../helpers/memory/memory-checkpoint.js';
import { DAY, NOW, writeSegment } from '../../helpers/reuse/nights.js';

const reuse = { maxAge: 1_000, failedAge: 0, epoch: '', maxMiss: 0.5 };
const begunWith = (maxAge: number, failedAge: number, prunedAt: number | null = null) => ({
  choice: { ...sampleChoice, maxAge, failedAge },
  prunedAt,
});

it('are the longest of the config and of the retained runs, so that a value for one run removes nothing', () => {
  const runs = [begunWith(9_000, 10), begunWith(500, 700), { choice: null, prunedAt: null }];
  expect(agesOf(reuse, runs)).toEqual({ ...reuse, maxAge: 9_000, failedAge: 700 });
  expect(agesOf(reuse, [])).toEqual(reuse);
});

it('leave out runs without results, and are none where nothing is reused', () => {
  expect(agesOf(reuse, [begunWith(9_000, 10, 5)])).toEqual(reuse);
  expect(agesOf({ ...reuse, maxAge: 0 }, [begunWith(9_000, 10)])).toBeUndefined();
});

it('takes answers out of a segment that another process replaces meanwhile', async () => {
  await withFolder(async (folder) => {
    const store = createLocalAnswerStore(folder);
    const checkpoint = createMemoryCheckpoint();
    const folio = (number: number) => ({
      folio: `f${number}`,
      answeredAt: NOW - number * DAY,
      records: [{ number, sent: [`name ${number}`, 'city'], values: ['1', 'title'] }],
    });
    const segment = await writeSegment(store, [folio(1), folio(2), folio(3)]);
    await checkpoint.recordSegment(segment);
    const dropBefore = (days: number, answers: DropAnswersContext['answers'] = store) =>
      dropAnswers({ checkpoint, answers }, segment, { before: NOW - days * DAY + 1 }, NOW + days);
    // It is in the middle of its work while the other one does all of its own.
    const interrupted = {
      ...store,
      rewriteSegment: async (...given: Parameters<typeof store.rewriteSegment>) => {
        const rewritten = await store.rewriteSegment(...given);
        if (given[0].id === segment.id) expect(await dropBefore(2)).toMatchObject({ left: 1 });
        return rewritten;
      },
    };
    expect(await dropBefore(3, interrupted)).toBeUndefined();
    const [left, ...others] = await checkpoint.segments();
    expect([left?.successful, others]).toEqual([1, []]);
    expect((await store.storedSegments()).segments).toEqual([left]);
    // A file that the other one has removed is no error either.
    expect(await dropBefore(1)).toMatchObject({ successful: 1, left: 0 });
  });
});
