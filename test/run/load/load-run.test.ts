/** What is said of a publication that is not loaded, and when the target of a load is checked. */
import { expect, it } from 'vitest';
import { checkLoadOfRest, loadPublication } from '../../../src/run/load/load-run.js';
import { chunkRecords } from '../../../src/stages/chunk/chunk-records.js';
import { samplePublication } from '../../helpers/checkpoint/samples.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, downloadAll } from '../../helpers/stages/stage-run.js';
import { collect } from '../../helpers/streams/collect.js';

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

it('the target is checked while something is left to send, and not afterwards', async () => {
  const load = { into: 'postgres://localhost/warehouse', table: 'businesses', mode: 'append' };
  const made = await createStageRun(await folder(), { config: { load } });
  let checks = 0;
  const check = async () => void checks++;
  const run = { ...made, loadTarget: { check, load: () => Promise.reject(new Error('no load')) } };
  await checkLoadOfRest(run);
  expect(checks).toBe(1);
  await collect(chunkRecords(run)());
  await checkLoadOfRest(run);
  expect(checks).toBe(2);
  await downloadAll(run);
  await checkLoadOfRest(run);
  expect(checks).toBe(2);
});
