/** What an incomplete run lacks is named; what it does not lack is not counted as 0. */
import { expect, it } from 'vitest';
import { checkAllMerged } from '../../../src/stages/publish/check-complete.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, downloadAll } from '../../helpers/stages/stage-run.js';

const folder = useFolder();

it('a source without any chunk yet', async () => {
  const run = await createStageRun(await folder());
  await expect(checkAllMerged(run)).rejects.toMatchObject({
    code: 'CHUNKS_MISSING',
    message: `run ${run.id}: the end of the source is not cut into chunks yet`,
    hint: expect.stringContaining('foliopipe run submits the rest'),
  });
});

it('rows, although all chunks are answered', async () => {
  const run = await createStageRun(await folder());
  await downloadAll(run);
  await expect(checkAllMerged(run)).rejects.toMatchObject({
    code: 'CHUNKS_MISSING',
    message: `run ${run.id}: all chunks are answered, but only 0 records can be merged`,
    hint: expect.stringContaining('report it'),
  });
});
