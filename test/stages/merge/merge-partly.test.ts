/** The output of a run that a deadline has stopped. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ChunkRow } from '../../../src/checkpoint/checkpoint.js';
import { chunkRecords } from '../../../src/stages/chunk/chunk-records.js';
import { downloadParts } from '../../../src/stages/download/download-parts.js';
import { hasAnswers, mergePartly } from '../../../src/stages/merge/merge-partly.js';
import { submitChunks } from '../../../src/stages/submit/submit-chunks.js';
import { trackFolios } from '../../../src/stages/track/track-folios.js';
import type { Choice } from '../../../src/types.js';
import { createFakeApi } from '../../fake-service/fake-api.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, downloadAll, refetching, type StageRun } from '../../helpers/stages/stage-run.js';
import { collect } from '../../helpers/streams/collect.js';

const folder = useFolder();

/** A run of three chunks, of which the first one is downloaded and the others are cut. */
async function stopped(): Promise<StageRun> {
  const run = await createStageRun(await folder());
  const [first] = await collect(chunkRecords(run)());
  const one = async function* (): AsyncGenerator<ChunkRow> {
    yield first!;
  };
  await collect(downloadParts(run)(trackFolios(run)(submitChunks(run)(one()))));
  return run;
}

it('has the answers so far, and DEADLINE where there is none', async () => {
  const run = await stopped();
  const merged = await collect(mergePartly(run));
  const rest = [3, 4, 5, 6].map((n) => `n${n},${n} Main St,UNPROCESSED,DEADLINE`);
  const rows = merged.map(({ bytes }) => bytes.toString()).join('');
  expect(rows).toMatch(/^n1,1 Main St,SUCCESSFUL,,,c1\nn2,2 Main St,SUCCESSFUL,,,c2\nn3,/);
  for (const row of rest) expect(rows).toContain(row);
  expect(await run.checkpoint.lastStretch(run.id)).toBeUndefined();
});

it('asks the service for no part again: there is no time', async () => {
  const run = await createStageRun(await folder());
  await downloadAll(run);
  const files = join(await folder(), 'state', 'runs', run.id);
  const [part] = (await readdir(files)).filter((name) => name.startsWith('part-'));
  await rm(join(files, part!));
  const asked = run.api.asked.length;
  await expect(collect(mergePartly(refetching(run)))).rejects.toMatchObject({ code: 'PART_DAMAGED' });
  expect(run.api.asked).toHaveLength(asked);
});

it('has the columns of the first chunk with a success, where none are declared or known', async () => {
  const api = createFakeApi({
    answer: ({ id }) =>
      Number(id) > 2
        ? { status: 'SUCCESSFUL', added: { code: `c${id}` } }
        : { status: 'FAILED', added: { reason: 'closed' } },
    style: () => ({ columns: () => ['id', 'code'] }),
  });
  const run = await createStageRun(await folder(), { api });
  await downloadAll(run);
  const [first] = await collect(mergePartly(run));
  expect(first!.columns).toEqual(['code']);
  const result = { ...run.config.result, columns: ['title', 'code'], onChange: 'add' as const };
  const [declared] = await collect(mergePartly({ ...run, config: { ...run.config, result } }));
  expect(declared!.columns).toEqual(['title', 'code']);
});

it('is worth publishing once there is an answer, or if none is needed', async () => {
  const run = await createStageRun(await folder());
  expect(await hasAnswers(run)).toBe(false);
  await collect(chunkRecords(run)());
  expect(await hasAnswers(run)).toBe(false);
  expect(await hasAnswers(await stopped())).toBe(true);
  const row = (await run.checkpoint.run(run.id))!;
  const choosing = (sent: number, reused: { readonly successful: number; readonly failed: number }) => {
    const choice = { sent, reused } as Choice;
    return hasAnswers({ ...run, checkpoint: { ...run.checkpoint, run: async () => ({ ...row, choice }) } });
  };
  expect(await choosing(6, { successful: 0, failed: 0 })).toBe(false);
  expect(await choosing(5, { successful: 1, failed: 0 })).toBe(true);
  expect(await choosing(5, { successful: 0, failed: 1 })).toBe(true);
  expect(await choosing(0, { successful: 0, failed: 0 })).toBe(true);
});
