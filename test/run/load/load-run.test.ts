/** What is said of a publication that is not loaded, and when the target of a load is checked. */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { NewPublication, Publication } from '../../../src/checkpoint/checkpoint.js';
import { parseConfig } from '../../../src/config/load-config.js';
import { besidePath } from '../../../src/config/sections/output-names.js';
import { ConfigError, TroubleError } from '../../../src/errors.js';
import type { LoadRequest } from '../../../src/load/load-target.js';
import type { LoadEvent } from '../../../src/progress/events.js';
import {
  checkLoadable,
  checkLoadOfRest,
  loadAfterPublishing,
  loadPublication,
  openLoadTarget,
} from '../../../src/run/load/load-run.js';
import { chunkRecords } from '../../../src/stages/chunk/chunk-records.js';
import { samplePublication } from '../../helpers/checkpoint/samples.js';
import { minimal } from '../../helpers/config/minimal-config.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, downloadAll, type StageRun } from '../../helpers/stages/stage-run.js';
import { collect } from '../../helpers/streams/collect.js';

const load = { into: 'postgres://localhost/warehouse', table: 'businesses', mode: 'append' as const };
const folder = useFolder();

it('a run of the local service that has sent nothing is a rehearsal too', async () => {
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

/** A done run with a target that takes each load, unless it fails. */
async function doneRun({
  publication = {},
  config = {},
  fail = () => undefined,
}: {
  readonly publication?: Partial<NewPublication>;
  readonly config?: object;
  readonly fail?: (run: StageRun) => unknown;
} = {}) {
  const made = await createStageRun(await folder(), { config: { load, ...config } });
  await downloadAll(made);
  const text = 'name,address\nn1,1 Main St\n';
  const path = join(await folder(), 'enriched.csv');
  await writeFile(path, text);
  await made.checkpoint.recordPublishing(made.id, {
    ...samplePublication,
    bytes: text.length,
    sha256: createHash('sha256').update(text).digest('hex'),
    records: 1,
    output: { ...samplePublication.output, path },
    ...publication,
  });
  await made.checkpoint.recordDone(made.id, 5);
  const requests: LoadRequest[] = [];
  const events: LoadEvent[] = [];
  const run: StageRun = {
    ...made,
    progress: { ...made.progress, emit: (event) => void events.push(event as LoadEvent) },
    loadTarget: {
      check: async () => undefined,
      load: async (request) => {
        requests.push(request);
        const error = fail(run);
        if (error !== undefined) throw error;
        return { already: requests.length > 1, base: null, written: 1, removed: 0, added: [] };
      },
    },
  };
  const row = (await run.checkpoint.run(run.id))!;
  return { run, row, requests, events, path, publication: row.publication! };
}

it('says when a load begins and how it ends, and asks again for one that was made', async () => {
  const { run, row, publication, events, requests } = await doneRun();
  expect(await loadPublication(run, row, publication)).toMatchObject({ state: 'loaded', written: 1 });
  expect(await loadPublication(run, row, publication)).toMatchObject({ state: 'already' });
  const event = { type: 'load', run: run.id, pipeline: 'nightly', publication: 1, table: 'businesses' };
  expect(events).toEqual([
    { ...event, state: 'begun', written: null },
    { ...event, state: 'loaded', written: 1 },
    { ...event, state: 'begun', written: null },
    { ...event, state: 'already', written: 1 },
  ]);
  expect(run.log.filter((line) => line.includes('publication'))).toEqual([
    'info loading publication 1 into businesses of postgres://localhost/warehouse',
    'info publication 1 is loaded: 1 row written',
    'info loading publication 1 into businesses of postgres://localhost/warehouse',
    'info publication 1 was loaded before',
  ]);
  expect(requests[0]).toMatchObject({ run: run.id, publication: 1, delta: null, table: 'businesses' });
});

it.each<[string, Partial<NewPublication>, object, string]>([
  ['a sample', {}, { limit: 2 }, 'only outputs of the whole source go into a table: foliopipe run'],
  ['partial', { exitCode: 3 }, {}, 'set load.partial: true'],
])('an output that is %s stays out of the table', async (_, publication, more, hint) => {
  const { run, row, requests, ...done } = await doneRun({ publication });
  const source = { ...row.source, ...more };
  expect(await loadPublication(run, { ...row, source }, done.publication)).toMatchObject({ state: 'left' });
  expect(requests).toEqual([]);
  const check = () => checkLoadable({ ...row, source }, done.publication, run.config.load!);
  expect(check).toThrow(
    expect.objectContaining({ code: 'LOAD_NOT_LOADABLE', hint: expect.stringContaining(hint) }),
  );
});

it('takes a delta whose file is there, with all its rows', async () => {
  const base = { publication: 3, sha256: 'ab' };
  const counts = { added: 1, changed: 2, removed: 4 };
  const delta = { base, reason: null, key: [], bytes: 9, sha256: 'cd', digests: 'd', ...counts };
  const { run, row, requests, path, publication } = await doneRun({ publication: { delta } });
  await loadPublication(run, row, publication);
  await writeFile(besidePath(path, 'delta.csv'), 'the delta');
  await loadPublication(run, row, publication);
  expect(requests[0]!.delta).toBeNull();
  expect(requests[1]!.delta).toMatchObject({ base, bytes: 9, sha256: 'cd', records: 7 });
});

it('merges by no key that was not checked when the run was published', async () => {
  const config = { load: { ...load, mode: 'merge' }, source: { path: 'source.csv', key: ['name'] } };
  const { run, row, requests, publication } = await doneRun({ config });
  const frozen = { ...row.frozen, 'source.key': '["address"]' };
  await expect(loadPublication(run, { ...row, frozen }, publication)).rejects.toMatchObject({
    code: 'LOAD_KEY_UNCHECKED',
  });
  expect(requests).toEqual([]);
  await loadPublication(run, { ...row, frozen: { ...frozen, 'source.key': '["name"]' } }, publication);
  expect(requests).toHaveLength(1);
});

describe('a load that fails after the output is published', () => {
  const down = new TroubleError('LOAD_UNREACHABLE', 'it cannot be reached', { hint: 'look at it' });
  const endOf = async (fail: (run: StageRun) => unknown, changes: Partial<Publication> = {}) => {
    const { run, row, publication } = await doneRun({ fail });
    const loading = loadAfterPublishing(run, row, { ...publication, ...changes });
    const error = await loading.then(
      () => expect.unreachable(),
      (thrown: unknown) => thrown as TroubleError,
    );
    return { error, run, last: await run.checkpoint.lastLoad(run.id) };
  };

  it('says that only the load is missing, and is recorded', async () => {
    const { error, run, last } = await endOf(() => down);
    expect(error).toMatchObject({
      code: 'LOAD_UNREACHABLE',
      message: `it cannot be reached; the output of run ${run.id} is published, as publication 1, and only its load is missing`,
      hint: `look at it; to repeat only the load: foliopipe load ${run.id}`,
    });
    expect(last).toMatchObject({ state: 'failed', code: 'LOAD_UNREACHABLE', why: 'it cannot be reached' });
  });

  it('names no second command where the run goes on, or where the hint has it', async () => {
    expect((await endOf(() => down, { partial: true })).error.hint).toBe('look at it');
    const hint = 'grant it, then: foliopipe load';
    const named = new ConfigError('LOAD_DENIED', 'no right', { hint });
    expect((await endOf(() => named)).error.hint).toBe(hint);
  });

  it('names the run where its file is not what was published, which is no matter of the load', async () => {
    const changed = new ConfigError('OUTPUT_CHANGED', 'the output is not as it was published', {
      hint: 'RUN',
    });
    const { error, run } = await endOf(() => changed);
    expect(error.message).toBe(changed.message);
    expect(error.hint).toBe(
      `write it again with: foliopipe publish ${run.id}; then: foliopipe load ${run.id}`,
    );
  });

  it('because it was stopped has not failed', async () => {
    const reason = new Error('SIGTERM');
    const { error, last } = await endOf((run) => {
      run.controller.abort(reason);
      return reason;
    });
    expect(error).toBe(reason);
    expect(last).toBeUndefined();
  });
});

it('a local service in the process of a run has no target, and a program may bring its own', async () => {
  const config = (service: object) => parseConfig({ ...minimal(), load, service }, '/');
  const [local, real] = [config({ embedded: true }), config({ baseUrl: 'https://s.test', token: 't' })];
  const loadTarget = { check: async () => undefined, load: () => Promise.reject(new Error('no load')) };
  expect(openLoadTarget(local, { loadTarget })).toBeNull();
  expect(openLoadTarget(real, { loadTarget })).toBe(loadTarget);
  expect(openLoadTarget(real, {})).not.toBeNull();
  expect(openLoadTarget({ ...real, load: null }, { loadTarget })).toBeNull();
});
