/** The delta over several nights, killed in each window, moved, retried, and with a lost base. */
import { readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { publish } from '../../../pipelines/index.js';
import { applyDelta, naiveDelta, type Rows, readRows, tableOf } from '../../helpers/csv/apply-delta.js';
import { deadlineAt } from '../../helpers/jobs/deadline.js';
import { fineNames, type LocalJob, withLocalJob } from '../../helpers/jobs/local-job.js';
import { throwAt } from '../../helpers/jobs/throw-at.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { killCliAt } from '../../helpers/processes/cli.js';

const windows = [
  'after-digests-before-delta',
  'after-delta-before-publishing',
  'after-publishing-before-rename',
  'after-rename-before-manifest',
  'after-manifest-before-marker',
  'after-marker-before-done',
  'after-base-before-done',
] as const;

interface Business {
  readonly id: string;
  readonly name: string;
  readonly note: string;
}

const first: readonly Business[] = fineNames(30).map((name, at) => ({
  id: `B-${at}`,
  name,
  note: at % 2 === 0 ? 'plain' : 'a, "b"\nc',
}));
/** Some gone, some renamed, one with another note (which is not sent), some new, and another order. */
const second: readonly Business[] = [
  { id: 'N, 1', name: 'New one', note: '' },
  ...first
    .filter((_, at) => at % 7 !== 3)
    .map((one, at) => (at % 5 === 2 ? { ...one, name: `${one.name} Inc.` } : one))
    .map((one, at) => (at === 0 ? { ...one, note: 'new note' } : one))
    .reverse(),
  { id: 'N2', name: 'New two', note: 'x' },
];
const third = first;

const quote = (value: string) => `"${value.replaceAll('"', '""')}"`;
const sourceOf = (businesses: readonly Business[]) =>
  `id,Name,Address,Note\n${businesses
    .map(({ id, name, note }) => `${quote(id)},${quote(name)},${id.length} Main St,${quote(note)}\n`)
    .join('')}`;

const keyFields = [0];
const settings = { source: { key: ['id'] }, output: { delta: true } };

/** The published rows after each night. */
type Nights = { rows: Rows; table: Map<string, readonly string[]> };
const begin = (): Nights => ({ rows: [], table: new Map() });

/** Expects the delta to be the plain difference to the last night, and to lead to tonight's output. */
async function expectDelta(job: LocalJob, nights: Nights, base: number | null): Promise<Rows> {
  const [header, ...rows] = readRows(await readFile(job.output));
  const [deltaHeader, ...delta] = readRows(await readFile(`${job.output}.delta.csv`));
  expect(deltaHeader).toEqual([...header!, 'prediction_change']);
  expect(delta).toEqual(naiveDelta(nights.rows, rows, keyFields));
  nights.table = applyDelta(nights.table, delta, keyFields);
  expect(nights.table).toEqual(tableOf(rows, keyFields));
  nights.rows = rows;
  const told = await manifestOf(job);
  expect(told.base?.publication ?? null).toBe(base);
  const count = (change: string) => delta.filter((row) => row.at(-1) === change).length;
  expect(told.delta).toMatchObject({
    path: `${job.output}.delta.csv`,
    key: ['id'],
    added: count('added'),
    changed: count('changed'),
    removed: count('removed'),
  });
  const left = await readdir(join(job.folder, 'out'));
  expect(left.filter((name) => name.endsWith('.partial'))).toEqual([]);
  expect(await readdir(digestsOf(job))).toHaveLength(2);
  return delta;
}

const manifestOf = async ({ output }: LocalJob) =>
  JSON.parse(await readFile(`${output}.manifest.json`, 'utf8'));
const digestsOf = ({ folder }: LocalJob) => join(folder, 'state', 'deltas', 'nightly.d');

async function withDeltaJob(use: (job: LocalJob, nights: Nights) => Promise<void>): Promise<void> {
  await withLocalJob({ names: [], config: settings }, async (job) => {
    await writeFile(job.source, sourceOf(first));
    await use(job, begin());
  });
}

describe('the delta of three nights', () => {
  it('leads from output to output, whoever moved or edited the old ones', async () => {
    await withDeltaJob(async (job, nights) => {
      await job.enrich();
      expect(await expectDelta(job, nights, null)).toHaveLength(30);
      expect((await manifestOf(job)).delta.reason).toBe('first');
      await rm(job.output);
      await writeFile(job.source, sourceOf(second));
      const { stderr } = await callMain(['run', job.file]);
      const delta = await expectDelta(job, nights, 1);
      const told = await manifestOf(job);
      expect(stderr).toContain(
        `delta     ${told.delta.added} added, ${told.delta.changed} changed, ${told.delta.removed} removed since publication 1\n`,
      );
      expect(new Set(delta.map((row) => row.at(-1)))).toEqual(new Set(['added', 'changed', 'removed']));
      await writeFile(job.source, sourceOf(third));
      await job.enrich({}, { fresh: true });
      await expectDelta(job, nights, 2);
    });
  });

  // One kill a night, and a night goes on from what the killed ones before it have left.
  it('has the same bytes though each night is killed, in another window', async () => {
    await withDeltaJob(async (job, nights) => {
      await job.enrich();
      await expectDelta(job, nights, null);
      for (const [at, armed] of windows.entries()) {
        await writeFile(job.source, sourceOf(at % 2 === 0 ? second : third));
        await killCliAt(armed, ['run', '--new', job.file]);
        await job.enrich();
        await expectDelta(job, nights, at + 1);
      }
    });
  });

  it.each(windows)('stopped %s on the first night has the same bytes', async (point) => {
    await withDeltaJob(async (job, nights) => {
      const at = throwAt(point);
      expect(await job.failure({}, { at })).toMatchObject({ message: 'killed' });
      await job.enrich();
      await expectDelta(job, nights, null);
    });
  });
});

describe('the delta of a run that is published again', () => {
  it('is empty, and names the publication before', async () => {
    await withDeltaJob(async (job, nights) => {
      const { run } = await job.enrich();
      await expectDelta(job, nights, null);
      await publish(job.config(), run);
      expect(await expectDelta(job, nights, 1)).toEqual([]);
      await rm(job.output);
      await job.enrich();
      expect(await expectDelta(job, nights, 2)).toEqual([]);
    });
  });

  it('with other columns holds every row as changed, and the manifest says why', async () => {
    await withDeltaJob(async (job, nights) => {
      await job.enrich();
      await expectDelta(job, nights, null);
      await job.enrich({ output: { lineage: true } });
      const told = await manifestOf(job);
      expect(told.base.publication).toBe(1);
      expect(told.delta).toMatchObject({ reason: 'columns', added: 0, changed: 30, removed: 0 });
    });
  });

  it('with another key has no base', async () => {
    await withDeltaJob(async (job, nights) => {
      await job.enrich();
      await expectDelta(job, nights, null);
      await job.enrich({ source: { key: ['id', 'Name'] } });
      const told = await manifestOf(job);
      expect(told.base).toBe(null);
      expect(told.delta).toMatchObject({ reason: 'key', added: 30, changed: 0, removed: 0 });
    });
  });

  it('after a publication without one has no base', async () => {
    await withDeltaJob(async (job, nights) => {
      await job.enrich();
      await expectDelta(job, nights, null);
      await job.enrich({ output: { delta: false } });
      expect(await readdir(join(job.folder, 'out'))).not.toContain('enriched.csv.delta.csv');
      expect((await manifestOf(job)).delta).toBeUndefined();
      await job.enrich();
      await expectDelta(job, begin(), null);
      expect((await manifestOf(job)).delta.reason).toBe('no-delta-before');
    });
  });
});

describe('source.key', () => {
  it('that is set for a done run is checked before the run is published again', async () => {
    const twice = [...first, { ...first[0]!, name: 'Other' }];
    await withLocalJob({ names: [] }, async (job) => {
      await writeFile(job.source, sourceOf(twice));
      const { run } = await job.enrich();
      const failure = await job.failure(settings);
      expect(failure).toMatchObject({ code: 'SOURCE_KEY_DOUBLED', facts: { record: 31, otherRecord: 1 } });
      expect(await manifestOf(job)).toMatchObject({ run, publication: 1 });
      await job.enrich({ ...settings, source: { key: ['id', 'Name'] } });
      expect(await manifestOf(job)).toMatchObject({ run, publication: 2, base: null, delta: { added: 31 } });
    });
  });

  it('that the output leaves out is refused with a delta', async () => {
    await withDeltaJob(async (job) => {
      const failure = await job.failure({ output: { columns: ['Name'] } });
      expect(failure).toMatchObject({ code: 'OUTPUT_KEY_MISSING', exitCode: 2 });
      expect(await job.served()).toEqual([]);
    });
  });
});

describe('a partial publication', () => {
  it('has no delta and is no base, and takes an old delta away', async () => {
    await withDeltaJob(async (job, nights) => {
      await job.enrich();
      await expectDelta(job, nights, null);
      await writeFile(job.source, sourceOf(second));
      // The first chunk of the night is answered, and no other.
      const { uploads } = (await manifestOf(job)) as { uploads: { accepted: number } };
      await job.restartService([
        { on: 'track', folio: { from: uploads.accepted + 2 }, fault: { neverFinishes: true } },
      ]);
      const partly = deadlineAt({ 'after-downloaded-before-merge': 1 });
      expect(await job.enrich({}, partly)).toMatchObject({ exitCode: 8, publication: 2 });
      const told = await manifestOf(job);
      expect([told.base, told.delta]).toEqual([undefined, undefined]);
      expect(await readdir(join(job.folder, 'out'))).not.toContain('enriched.csv.delta.csv');
      await job.restartService([]);
      await job.enrich({}, { fresh: true });
      await expectDelta(job, nights, 1);
    });
  });
});

describe('a base that is lost', () => {
  const harms: [string, string, (folder: string) => Promise<void>][] = [
    ['with its folder', 'DELTA_BASE_LOST', (folder) => rm(folder, { recursive: true })],
    ['without its digests', 'DELTA_BASE_LOST', async (folder) => rm(await rowsIn(folder))],
    ['cut', 'DELTA_BASE_DAMAGED', async (folder) => truncate(await rowsIn(folder), 100)],
    ['changed', 'DELTA_BASE_DAMAGED', async (folder) => flipByte(await rowsIn(folder), 40)],
    ['with a changed name', 'DELTA_BASE_DAMAGED', (folder) => flipByte(join(folder, 'last.json'), 20)],
  ];
  // The rows are read only for the delta.
  const seenBefore = harms.filter(([how]) => how !== 'changed');

  it.each(seenBefore)(
    '%s is refused before anything is paid, and the hint leads out',
    async (_, code, harm) => {
      await withDeltaJob(async (job, nights) => {
        await job.enrich();
        await expectDelta(job, nights, null);
        await harm(digestsOf(job));
        await writeFile(job.source, sourceOf(second));
        const hint = expect.stringMatching(/^nothing was sent; .*foliopipe run --set output\.delta=false/);
        expect(await job.failure()).toMatchObject({ code, exitCode: 2, hint });
        expect(await callMain(['plan', job.file])).toMatchObject({ code: 2 });
        const { code: exit, stderr } = await callMain(['run', job.file, '--set', 'output.delta=false']);
        expect(exit, stderr).toBe(0);
        await job.enrich();
        await expectDelta(job, begin(), null);
      });
    },
  );

  it.each(harms)('%s stops before the output is replaced, and the hint leads out', async (_, code, harm) => {
    await withDeltaJob(async (job, nights) => {
      await job.enrich();
      await expectDelta(job, nights, null);
      const before = await readFile(job.output);
      await writeFile(job.source, sourceOf(second));
      const at = throwAt('after-last-merge-before-publishing');
      expect(await job.failure({}, { at })).toMatchObject({ message: 'killed' });
      await harm(digestsOf(job));
      expect(await job.failure()).toMatchObject({ code, exitCode: 2 });
      expect(await job.failure()).toMatchObject({ code });
      expect(await readFile(job.output)).toEqual(before);
      expect((await manifestOf(job)).publication).toBe(1);
      const { run } = await job.kept();
      const { code: exit, stderr } = await callMain([
        'publish',
        run.id,
        job.file,
        '--set',
        'output.delta=false',
      ]);
      expect(exit, stderr).toBe(0);
      await job.enrich();
      await expectDelta(job, begin(), null);
      await writeFile(job.source, sourceOf(third));
      await job.enrich({}, { fresh: true });
      expect((await manifestOf(job)).base.publication).toBe(3);
    });
  });
});

async function rowsIn(folder: string): Promise<string> {
  const names = await readdir(folder);
  return join(folder, names.find((name) => name.endsWith('.rows'))!);
}

async function flipByte(path: string, at: number): Promise<void> {
  const content = await readFile(path);
  content[at]! ^= 1;
  await writeFile(path, content);
}
