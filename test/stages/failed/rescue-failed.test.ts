/** What the single-record search is asked for, and which refusals end it. */
import { expect, it } from 'vitest';
import { GuardError, OutageError, RefusedError } from '../../../src/errors.js';
import { rescueFailed } from '../../../src/stages/failed/rescue-failed.js';
import { createFakeApi } from '../../fake-service/fake-api.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, downloadAll } from '../../helpers/stages/stage-run.js';

const folder = useFolder();

/** A run whose records all fail, and the searches that it sends: each ends with this error. */
async function failedRun(error: Error) {
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
    throw error;
  };
  return { run: { ...run, api: { ...api, search } }, searched };
}

const asked = [
  { name: 'Ann', address: 'A St' },
  { name: 'Eve', address: '' },
];

const refused = (status: number) => new RefusedError('SERVICE_REFUSED', 'no', { facts: { status } });

it.each([400, 404, 410, 422])('a refusal with %i is that of one record', async (status) => {
  const { run, searched } = await failedRun(refused(status));
  await rescueFailed(run);
  expect(searched).toEqual(asked);
});

it.each([
  ['a refusal with 401', refused(401)],
  ['a refusal with 403', refused(403)],
  ['an outage', new OutageError('SERVICE_UNAVAILABLE', 'no')],
  ['a budget', new GuardError('BUDGET_REACHED', 'no')],
])('%s is that of all', async (_, error) => {
  const { run, searched } = await failedRun(error);
  await expect(rescueFailed(run)).rejects.toBe(error);
  expect(searched).toEqual(asked.slice(0, 1));
});
