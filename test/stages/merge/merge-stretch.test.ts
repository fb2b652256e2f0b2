import { expect, it } from 'vitest';
import type { ChosenAnswers } from '../../../src/reuse/answer-store.js';
import { openStretchMerger } from '../../../src/stages/merge/merge-stretch.js';
import { positionAfter } from '../../../src/stages/read-source.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, downloadAll, nothing } from '../../helpers/stages/stage-run.js';

const folder = useFolder();

it('what was opened is closed where the answers of merged records cannot be read for their doubles', async () => {
  const run = await createStageRun(await folder());
  await downloadAll(run);
  const row = (await run.checkpoint.run(run.id))!;
  const closed: string[] = [];
  const chosen: ChosenAnswers = {
    toSend: nothing,
    reused: nothing,
    outdated: nothing,
    byFirst: nothing,
    byDouble: async function* () {
      yield* nothing();
      throw new Error('no disk');
    },
    close: async () => undefined,
  };
  const merger = openStretchMerger(
    {
      ...run,
      chosen,
      answers: {
        ...run.answers,
        openCarried: async () => ({ keep: () => {}, upTo: () => [], close: () => closed.push('carried') }),
      },
      checkpoint: {
        ...run.checkpoint,
        run: async () => ({ ...row, choice: { duplicates: 1 } as NonNullable<typeof row.choice> }),
      },
    },
    positionAfter(run.source, await run.checkpoint.chunk(run.id, 1)),
    ['code'],
  );
  await expect(merger.next(6)).rejects.toThrow('no disk');
  await merger.close();
  expect(closed).toEqual(['carried']);
});
