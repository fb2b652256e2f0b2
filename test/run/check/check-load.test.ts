/** The check of the table when the first results show the columns of the service: before more is paid for. */
import { expect, it } from 'vitest';
import { ConfigError } from '../../../src/errors.js';
import type { LoadTable } from '../../../src/load/load-target.js';
import { checkLearned, checkLoadTarget, uncheckedLoad } from '../../../src/run/check/check-load.js';
import type { MergedStretch } from '../../../src/stages/merge/merge-stretch.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, downloadAll, type StageRun } from '../../helpers/stages/stage-run.js';
import { collect } from '../../helpers/streams/collect.js';

const folder = useFolder();
const load = { into: 'postgres://localhost/warehouse', table: 'businesses', mode: 'append' };
const rows = ['first', 'second'] as unknown as MergedStretch[];
const drift = new ConfigError('LOAD_DRIFT', 'the table has no column prediction_code');

/** Passes rows on, as they come once the columns are recorded. @param fail what the table says to the check. */
async function pass(fail: () => void, { result = {}, stop = false } = {}) {
  const made = await createStageRun(await folder(), { config: { load, result } });
  await downloadAll(made);
  const tables: LoadTable[] = [];
  const check = async (table: LoadTable) => {
    tables.push(table);
    if (stop) made.controller.abort(new Error('SIGTERM'));
    fail();
  };
  const run: StageRun = { ...made, loadTarget: { check, load: () => Promise.reject(new Error('no load')) } };
  const merged = async function* () {
    await run.checkpoint.recordColumns(run.id, ['code'], true);
    yield* rows;
  };
  const passed = collect(checkLearned(run)(merged()));
  return { run, tables, passed };
}

it('asks once, with the columns that the first results have shown', async () => {
  const { run, tables, passed } = await pass(() => undefined);
  expect(await passed).toEqual(rows);
  expect(tables.map(({ columns }) => columns.at(-1))).toEqual([{ name: 'prediction_code', role: 'answer' }]);
  expect(run.uploads.stopped).toBe(false);
  expect(run.deferred.error).toBeUndefined();
});

it('lets nothing more be uploaded if the table refuses them, and what is sent already goes on', async () => {
  const { run, passed } = await pass(() => {
    throw drift;
  });
  expect(await passed).toEqual(rows);
  expect(run.uploads.stopped).toBe(true);
  expect(run.deferred.error).toBe(drift);
  expect(run.log.filter((line) => line.startsWith('warn'))).toEqual([
    `warn ${drift.message}; nothing more is uploaded, and what was sent already continues`,
  ]);
});

it('asks not at all where the columns are declared: a new run has checked them', async () => {
  const { tables, passed } = await pass(() => undefined, { result: { columns: ['code'] } });
  expect(await passed).toEqual(rows);
  expect(tables).toEqual([]);
});

it('ends with a bug, and with a stop, at once', async () => {
  const bug = new TypeError('a bug');
  const broken = await pass(() => {
    throw bug;
  });
  await expect(broken.passed).rejects.toBe(bug);
  const stopped = await pass(
    () => {
      throw drift;
    },
    { stop: true },
  );
  await expect(stopped.passed).rejects.toBe(drift);
  expect(stopped.run.uploads.stopped).toBe(false);
});

it('says that the table takes the output, and of what a local service answers that it is never loaded', async () => {
  const made = await createStageRun(await folder(), { config: { load } });
  const tables: LoadTable[] = [];
  const target = { check: async (table: LoadTable) => void tables.push(table), load: () => Promise.reject() };
  const textFor = (isLocal: boolean) =>
    checkLoadTarget(made.config, target, made.source, { isLocal, signal: made.signal });
  const taken = 'businesses of postgres://localhost/warehouse takes the output';
  expect(await textFor(false)).toBe(taken);
  expect(await textFor(true)).toBe(
    `${taken}; what the local service answers is a rehearsal, and is never loaded`,
  );
  expect(tables).toHaveLength(2);
});

it('says why the table is not checked: the source decides on the columns', async () => {
  const { config } = await createStageRun(await folder(), { config: { load } });
  expect(uncheckedLoad(config)).toMatchObject({ text: expect.stringContaining('correct the source first') });
  const piped = { ...config, source: { ...config.source, path: '-' } };
  expect(uncheckedLoad(piped)).toMatchObject({ text: expect.stringContaining('check before they pay') });
});
