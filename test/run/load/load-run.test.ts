/** What is said of a publication that is not loaded. */
import { expect, it } from 'vitest';
import { loadPublication } from '../../../src/run/load/load-run.js';
import { samplePublication } from '../../helpers/checkpoint/samples.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun } from '../../helpers/stages/stage-run.js';

const folder = useFolder();

it('a run of the local service that has sent nothing is a rehearsal too', async () => {
  const load = { into: 'postgres://localhost/warehouse', table: 'businesses', mode: 'append' };
  const config = { load, service: { embedded: true } };
  const run = await createStageRun(await folder(), { config });
  await run.checkpoint.recordPublishing(run.id, samplePublication);
  await run.checkpoint.recordDone(run.id, 5);
  const row = (await run.checkpoint.run(run.id))!;
  const why = 'it is a rehearsal';
  await expect(loadPublication(run, row, row.publication!)).resolves.toMatchObject({ state: 'left', why });
  expect(run.log).toEqual([`warn publication 1 is not loaded into businesses: ${why}`]);
  expect(await run.checkpoint.lastLoad(run.id)).toMatchObject({ state: 'left', why });
});
