/** What the single-record search is asked for, and which refusals end it. */
import { expect, it } from 'vitest';
import { RefusedError } from '../../../src/errors.js';
import { rescueFailed } from '../../../src/stages/failed/rescue-failed.js';
import { createFakeApi } from '../../fake-service/fake-api.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, downloadAll } from '../../helpers/stages/stage-run.js';

const folder = useFolder();

/** A run whose records all fail, and the searches that it sends: each gets this status. */
async function failedRun(status: number) {
  const api = createFakeApi({
    finishedAtPoll: () => 1,
    results: (results) => results.map((one) => ({ ...one, status: 'FAILED', added: { reason: 'none' } })),
  });
  const run = await createStageRun(await folder(), {
    api,
    source: 'phone,street,name\n1,A St,Ann\n2,B St, \n3,C St,""\n4,,Eve\n',
    config: {
      upload: { columns: { phone: 'phone', address: 'street', name: 'name' }, keyColumn: 'id' },
      failures: { tolerate: '100%' },
      concurrency: { uploads: 1 },
    },
  });
  await downloadAll(run);
  const searched: object[] = [];
  const search = async (fields: object) => {
    searched.push(fields);
    throw new RefusedError('SERVICE_REFUSED', 'no', { facts: { status } });
  };
  return { run: { ...run, api: { ...api, search } }, searched };
}

const asked = [
  { name: 'Ann', address: 'A St' },
  { name: 'Eve', address: '' },
];

it.each([400, 404, 410, 422])('a refusal with %i is that of one record', async (status) => {
  const { run, searched } = await failedRun(status);
  await rescueFailed(run);
  expect(searched).toEqual(asked);
});

it.each([401, 403])('a refusal with %i is that of all', async (status) => {
  const { run, searched } = await failedRun(status);
  await expect(rescueFailed(run)).rejects.toMatchObject({ code: 'SERVICE_REFUSED', exitCode: 7 });
  expect(searched).toEqual(asked.slice(0, 1));
});
