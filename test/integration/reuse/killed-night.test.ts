/**
 * A night with reuse that is killed in each window, and continued: the bytes of an unbroken night, nothing paid twice,
 * and whole answers for the night after it.
 */
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RunSummary } from '../../../pipelines/index.js';
import type { Failpoint } from '../../../src/failpoints.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, enrichJob, filesUnder, type Job, killJobAt } from '../../helpers/jobs/cli-job.js';
import { useServe } from '../../helpers/service/serve.js';
import { failPower } from '../../helpers/state/power-failure.js';

/** Chunks of the first night, and of the second one. */
const chunks = { first: 6, second: 3 };

/** By window: at which passing the second night is killed. */
const windows: Readonly<Partial<Record<Failpoint, number>>> = {
  'after-choice-before-run': 1,
  'after-run-before-chunk': 1,
  'after-cut-before-chunk-file': 2,
  'after-intent-before-post': 2,
  'after-post-before-commit': 2,
  'after-accepted-before-poll': 2,
  'after-finished-reply-before-commit': 2,
  'after-finished-before-download': 2,
  'after-part-file-before-commit': 2,
  'after-downloaded-before-merge': 2,
  'after-work-write-before-commit': 1,
  'after-publishing-before-rename': 1,
  'after-rename-before-manifest': 1,
  'after-manifest-before-marker': 1,
  'after-marker-before-done': 1,
};

/**
 * The same for windows after changes that are not synced, so that a power failure takes them back. It leaves less than
 * the kill alone, so the same window is not killed without one.
 */
const unsynced: Readonly<Partial<Record<Failpoint, number>>> = {
  'after-cut-before-intent': 2,
  'after-part-before-downloaded': 2,
  'after-merged-before-next': 1,
  'after-last-merge-before-publishing': 1,
};

const folder = useSharedFolder();
const limit = pLimit(3);
const serve = useServe({ segmentRecords: 4 });
let unbroken: Buffer;
/** The job after its first night. Each test has a copy of its folder. */
let first: { readonly job: Job; readonly run: string };
/** The second nights: where they were killed, and their uploads as the summary tells them. */
const seconds: ({ readonly where: string } & Pick<RunSummary, 'run' | 'uploads'>)[] = [];

beforeAll(async () => {
  first = await firstNight();
  const job = await secondNight('unbroken');
  const summary = await enrichJob(job);
  expect(summary).toMatchObject({ exitCode: 0, uploads: { accepted: chunks.second } });
  seconds.push({ where: 'unbroken', ...summary });
  unbroken = await readFile(job.output);
});

describe('a night with reuse that is killed', () => {
  it.concurrent.each(Object.entries(windows))('%s', (point, nth) =>
    limit(async () => {
      const job = await secondNight(point);
      await killJobAt(job, `${point}:${nth}`);
      await finish(job, point);
      await expectThirdNight(job);
    }),
  );

  it.concurrent.each(Object.entries(unsynced))('%s, by a power failure', (point, nth) =>
    limit(async () => {
      const job = await secondNight(`power-${point}`);
      await killJobAt(job, `${point}:${nth}`);
      await failPower(job.stateDir);
      await finish(job, point);
      await expectThirdNight(job);
    }),
  );

  it.concurrent('with nothing to send', () =>
    limit(async () => {
      for (const point of [
        'after-run-before-chunk',
        'after-merged-before-next',
        'after-marker-before-done',
      ]) {
        const job = await secondNight(`idle-${point}`);
        await writeFile(job.source, source('first', 'tonight'));
        await killJobAt(job, point);
        const summary = await enrichJob(job);
        expect(summary).toMatchObject({ exitCode: 0, uploads: { accepted: 0 } });
        seconds.push({ where: `idle-${point}`, ...summary });
      }
    }));

  it('has paid for no record twice', async () => {
    const names = (await serve.served()).map(({ fileName }) => fileName);
    expect(new Set(names).size).toBe(names.length);
    const ofRun = (run: string) => names.filter((name) => name.startsWith(`nightly-${run}-`)).length;
    let known = ofRun(first.run);
    expect(known).toBe(chunks.first);
    for (const { where, run, uploads } of seconds) {
      const own = ofRun(run);
      known += own;
      const more = own - uploads.accepted;
      // An upload whose reply was lost with the process is sent again, and reported.
      expect(more, where).toBeGreaterThanOrEqual(where === 'after-post-before-commit' ? 1 : 0);
      expect(more, where).toBeLessThanOrEqual(uploads.ambiguous);
    }
    expect(names, 'no other run has paid').toHaveLength(known);
    expect(seconds).toHaveLength(Object.keys({ ...windows, ...unsynced }).length + 4);
  });
});

async function firstNight(): Promise<typeof first> {
  const job = await newJob(await folder());
  await writeFile(job.source, source('first', 'first night'));
  const { run, ...summary } = await enrichJob(job);
  expect(summary).toMatchObject({ exitCode: 0, uploads: { accepted: chunks.first } });
  return { job, run };
}

/** A job whose first night is done, with the source of the second night. */
async function secondNight(name: string): Promise<Job> {
  const parent = join(await folder(), name);
  await cp(first.job.folder, join(parent, 'nightly'), { recursive: true, preserveTimestamps: true });
  const job = await newJob(parent);
  await writeFile(job.source, source('second', 'second night'));
  return job;
}

async function newJob(parent: string): Promise<Job> {
  const settings = {
    concurrency: { uploads: 1, folios: 4, downloads: 1 },
    reuse: { maxAge: '90d' },
  };
  return createJob(parent, { baseUrl: serve.url, chunk: 5, settings });
}

/** 30 records, of which 15 are in both nights, at other places. */
function source(night: 'first' | 'second', note: string): string {
  const names = Array.from({ length: 30 }, (_, at) => (night === 'first' ? at : 59 - 2 * at));
  const rows = names.map((n) => `"Shop, ""${n}""\nLtd",${n} Main St,MT,${note}`);
  return `BusinessName,Address,State,Note\n${rows.join('\n')}\n`;
}

async function finish(job: Job, where: string): Promise<void> {
  const summary = await enrichJob(job);
  expect(summary.exitCode).toBe(0);
  expect((await readFile(job.output)).equals(unbroken)).toBe(true);
  expect(summary.uploads.accepted).toBe(chunks.second);
  seconds.push({ where, ...summary });
  const files = await filesUnder(job.stateDir);
  expect(files.filter((file) => /\.(tmp|partial)$|\/chunk-/.test(file))).toEqual([]);
  expect(files.filter((file) => file.endsWith('.seg'))).toHaveLength(2);
}

/** The answers of the killed night serve the next one. */
async function expectThirdNight(job: Job): Promise<void> {
  await writeFile(job.source, source('second', 'third night'));
  expect(await enrichJob(job)).toMatchObject({ exitCode: 0, uploads: { accepted: 0 } });
  const expected = unbroken.toString().replaceAll('second night', 'third night');
  expect(await readFile(job.output, 'utf8')).toBe(expected);
}
