/** Which ages a prune that nobody has asked for goes by, and answers that are taken out by two processes at once. */
import { expect, it } from 'vitest';
import type { Checkpoint } from '../../../src/checkpoint/checkpoint.js';
import type { Config } from '../../../src/config/schema.js';
import { createLocalAnswerStore } from '../../../src/reuse/local-answer-store.js';
import {
  type DropAnswersContext,
  dropAnswers,
  pruneAnswers,
} from '../../../src/run/answers/prune-answers.js';
import { sampleChoice, sampleRun } from '../../helpers/checkpoint/samples.js';
import { withFolder } from '../../helpers/folders/folders.js';
import { createMemoryCheckpoint } from '../../helpers/memory/memory-checkpoint.js';
import { DAY, NOW, writeSegment } from '../../helpers/reuse/nights.js';

const reuse = { maxAge: DAY, failedAge: 0, epoch: '', maxMiss: 0.5 };

/** A state with one segment, of answers that are two days old, and a retained run that took older ones. */
async function withOldSegment(
  use: (checkpoint: Checkpoint, prune: (terms: object, maxAge?: number) => Promise<number>) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    const answers = createLocalAnswerStore(folder);
    const checkpoint = createMemoryCheckpoint();
    const records = [{ number: 1, sent: ['name 1', 'city'], values: ['1', 'title'] }];
    const segment = await writeSegment(answers, [{ folio: 'f1', answeredAt: NOW - 2 * DAY, records }]);
    await checkpoint.recordRun(sampleRun(segment.run));
    await checkpoint.recordSegment(segment);
    const choice = { ...sampleChoice, maxAge: 3 * DAY, failedAge: 0 };
    await checkpoint.recordRun(sampleRun('other', { pipeline: 'other', choice }));
    const prune = async (terms: object, maxAge = reuse.maxAge) => {
      const config = { pipeline: 'nightly', reuse: { ...reuse, maxAge } } as Config;
      return (await pruneAnswers({ checkpoint, answers, config }, { now: NOW, dryRun: true, ...terms }))
        .length;
    };
    await use(checkpoint, prune);
  });
}

it('goes by the longest ages of the config and of retained runs, so that a value for one run removes nothing', () =>
  withOldSegment(async (checkpoint, prune) => {
    expect(await prune({ isAutomatic: true })).toBe(0);
    expect(await prune({ isAutomatic: true, now: NOW + DAY + 1 })).toBe(1);
    expect(await prune({})).toBe(1);
    expect(await prune({}, 3 * DAY)).toBe(0);
    await checkpoint.recordSuperseded('other', 1);
    await checkpoint.recordPruned('other', 2);
    expect(await prune({ isAutomatic: true })).toBe(1);
  }));

it('removes no answer where nothing is reused', () =>
  withOldSegment(async (_, prune) => {
    for (const isAutomatic of [false, true]) expect(await prune({ isAutomatic }, 0)).toBe(0);
  }));

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
