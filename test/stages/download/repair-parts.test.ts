/** Parts that several stages, or several runs with one checkpoint, find damaged at the same time. */
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FolioLostError } from '../../../src/errors.js';
import { DamagedPartError } from '../../../src/files/run-files.js';
import { readChunkBlock } from '../../../src/stages/chunk/chunk-content.js';
import { withRepair } from '../../../src/stages/download/repair-parts.js';
import { createChunkJoiner } from '../../../src/stages/merge/join-chunk.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, downloadAll, refetching, type StageRun } from '../../helpers/stages/stage-run.js';

const folder = useFolder();

/** A run with one chunk, whose only part is damaged. */
async function damaged(): Promise<StageRun> {
  const run = await createStageRun(await folder(), { records: 2 });
  await downloadAll(run);
  const parts = join(run.config.stateDir, 'runs', run.id);
  const [part] = (await readdir(parts)).filter((name) => name.startsWith('part-'));
  await writeFile(join(parts, part!), 'rubbish');
  return run;
}

/** Joins the chunk in two stages at once. */
async function joinTwice(run: StageRun) {
  const chunk = (await run.checkpoint.chunk(run.id, 1))!;
  const joinOnce = () => createChunkJoiner(refetching(run))(chunk, () => readChunkBlock(run, chunk));
  return Promise.all([joinOnce(), joinOnce()]);
}

it('are fetched once', async () => {
  const run = await damaged();
  const [one, other] = await joinTwice(run);
  expect([...one!.result, ...other!.result]).toEqual([0, 1, 0, 1]);
  const downloads = run.api.asked.filter((asked) => asked.startsWith('download'));
  expect(downloads).toHaveLength(2);
});

it('and whose folio is lost are given up once', async () => {
  const run = await damaged();
  run.api.folios.clear();
  expect(await joinTwice(run)).toEqual([undefined, undefined]);
  expect(await run.checkpoint.chunk(run.id, 1)).toMatchObject({ state: 'unprocessed', cause: 'FOLIO_LOST' });
});

it('and are of another run with the same checkpoint have their own answers', async () => {
  const run = await damaged();
  const chunk = (await run.checkpoint.chunk(run.id, 1))!;
  const part = { fileStatus: 'SUCCESSFUL', part: 0 } as const;
  const checkpoint = { ...run.checkpoint, parts: async () => [], recordUnprocessed: async () => chunk };
  const repair = (id: string, fetchOne: () => Promise<void>) => {
    let isDamaged = true;
    const refetch = async () => ({
      parts: [],
      fetchOne: async () => {
        await fetchOne();
        isDamaged = false;
      },
      fetchAll: async () => undefined,
      commit: async () => chunk,
      discard: async () => undefined,
    });
    return withRepair({ id, checkpoint, logger: run.logger, refetch }, { ...chunk, round: 1 }, async () => {
      if (isDamaged) throw new DamagedPartError(1, part, undefined);
      return id;
    });
  };
  const lost = async () => {
    throw new FolioLostError('FOLIO_LOST', 'gone');
  };
  expect(await Promise.all([repair('one', lost), repair('two', async () => undefined)])).toEqual([
    undefined,
    'two',
  ]);
});
