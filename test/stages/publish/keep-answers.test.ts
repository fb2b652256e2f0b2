import { expect, it } from 'vitest';
import { keepAnswers } from '../../../src/stages/publish/keep-answers.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, downloadAll, nothing, type StageRun } from '../../helpers/stages/stage-run.js';

const folder = useFolder();

/** A run that may reuse answers, and whose three chunks are downloaded. */
async function downloaded(): Promise<StageRun> {
  const run = await createStageRun(await folder(), { config: { reuse: { maxAge: '90d' } } });
  await downloadAll(run);
  const none = { toSend: nothing, reused: nothing, outdated: nothing, byFirst: nothing, byDouble: nothing };
  return { ...run, chosen: { ...none, close: async () => undefined } };
}

it('a segment is replaced when more is answered, also where reuse is off by now', async () => {
  const run = await downloaded();
  const off = { ...run, config: { ...run.config, reuse: { ...run.config.reuse, maxAge: 0 } } };
  expect(await keepAnswers(off)).toBeUndefined();
  const { segment } = (await keepAnswers(run))!;
  expect(segment).toMatchObject({ successful: 6, failed: 0 });
  await run.checkpoint.recordSegment(segment, undefined);
  expect(await keepAnswers(off)).toBeUndefined();
  const { counts } = await run.checkpoint.tally(run.id);
  const more = { ...counts, successful: counts.successful + 1 };
  expect(await keepAnswers(off, more)).toMatchObject({
    segment: { id: `${run.id}-2` },
    replaced: segment.id,
  });
});

it('an error that says nothing about a chunk leaves none out', async () => {
  const run = await downloaded();
  const broken = new Error('the disk does not answer');
  const readPart: StageRun['files']['readPart'] = (chunk, part) => {
    if (chunk === 2) throw broken;
    return run.files.readPart(chunk, part);
  };
  await expect(keepAnswers({ ...run, files: { ...run.files, readPart } })).rejects.toBe(broken);
  expect((await run.answers.storedSegments()).segments).toEqual([]);
});
