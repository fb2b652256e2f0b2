import { expect, it } from 'vitest';
import type { ChosenAnswers } from '../../../src/reuse/answer-store.js';
import { openStretchMerger } from '../../../src/stages/merge/merge-stretch.js';
import { positionAfter } from '../../../src/stages/read-source.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, downloadAll, nothing } from '../../helpers/stages/stage-run.js';

const folder = useFolder();

/** The merger of a run with doubles whose first chunk is merged already. */
async function openAfterFirstChunk(answers: Partial<ChosenAnswers> = {}) {
  const run = await createStageRun(await folder());
  await downloadAll(run);
  const row = (await run.checkpoint.run(run.id))!;
  const merged = (await run.checkpoint.chunk(run.id, 1))!;
  const closed: string[] = [];
  const none = { toSend: nothing, reused: nothing, outdated: nothing, byFirst: nothing, byDouble: nothing };
  const merger = openStretchMerger(
    {
      ...run,
      chosen: { ...none, close: async () => undefined, ...answers },
      answers: {
        ...run.answers,
        openCarried: async () => ({ keep: () => {}, upTo: () => [], close: () => closed.push('carried') }),
      },
      checkpoint: {
        ...run.checkpoint,
        run: async () => ({ ...row, choice: { duplicates: 1 } as NonNullable<typeof row.choice> }),
      },
    },
    positionAfter(run.source, merged),
    ['code'],
  );
  return { merger, merged, closed };
}

it('what was opened is closed where the answers of merged records cannot be read for their doubles', async () => {
  const { merger, closed } = await openAfterFirstChunk({
    byDouble: async function* () {
      yield* nothing();
      throw new Error('no disk');
    },
  });
  await expect(merger.next(6)).rejects.toThrow('no disk');
  await merger.close();
  expect(closed).toEqual(['carried']);
});

it('a run with doubles goes on with the record after the last merged one', async () => {
  const { merger, merged } = await openAfterFirstChunk();
  const stretch = await merger.next(6);
  expect(stretch).toMatchObject({ firstRecord: merged.lastRecord + 1, lastRecord: 6 });
  await merger.close();
});
