/**
 * Real kills in each window: started again, a job ends as one that was not killed: rule "Resume is running again",
 * docs/architecture.md#resume-is-running-again.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RunSummary } from '../../../pipelines/index.js';
import { type Failpoint, failpoints } from '../../../src/failpoints.js';
import { openSqlite } from '../../../src/sqlite-driver.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, enrichJob, filesUnder, type Job, killJobAt } from '../../helpers/jobs/cli-job.js';
import { jsonLines, spawnCli } from '../../helpers/processes/cli.js';
import { openServe, servedFolios, spawnServe, useServe } from '../../helpers/service/serve.js';
import { failPower } from '../../helpers/state/power-failure.js';

const chunks = 6;

/** Which passing of a window is killed: in the middle of the work if it is passed more than once. */
const passing: Readonly<Partial<Record<Failpoint, number>>> = {
  'after-cut-before-chunk-file': 3,
  'after-cut-before-intent': 3,
  'after-intent-before-post': 3,
  'after-slot-before-post': 3,
  'after-post-before-commit': 3,
  'after-accepted-before-poll': 3,
  'after-finished-reply-before-commit': 2,
  'after-finished-before-download': 3,
  'after-part-file-before-commit': 4,
  'after-part-before-downloaded': 3,
  'after-downloaded-before-merge': 3,
  'after-work-write-before-commit': 3,
  'after-merged-before-next': 3,
};

/** Windows that neither the job of `npm run prove:crash` nor this one passes, and the tests that cover them. */
const { elsewhere }: { elsewhere: Readonly<Partial<Record<Failpoint, string>>> } = await import(
  join(import.meta.dirname, '../../prove/crash/expected.js')
);
/** Windows that only this job does not pass: no chunk of it is split, and it has no rounds. */
const unpassed: readonly Failpoint[] = [
  'after-split-before-upload',
  'after-round-answered-before-settled',
  'after-settled-before-merge',
];
/** Windows in which a paid POST has an intent and no folio. */
const ambiguousWindows: readonly Failpoint[] = [
  'after-intent-before-post',
  'after-slot-before-post',
  'after-post-before-commit',
];

/** Windows after changes that are not synced, so that a power failure takes them back. */
const unsyncedWindows: readonly Failpoint[] = [
  'after-cut-before-chunk-file',
  'after-cut-before-intent',
  'after-finished-before-download',
  'after-part-before-downloaded',
  'after-merged-before-next',
  'after-last-merge-before-publishing',
];

/** Windows in which test/integration/publish/delta.test.ts kills too, and compares every byte. */
const inDelta: readonly Failpoint[] = ['after-publishing-before-rename', 'after-manifest-before-marker'];
/** A power failure leaves less than the kill alone, so the same window is not killed without one. */
const elsewhereToo = new Set([...Object.keys(elsewhere), ...unpassed, ...unsyncedWindows, ...inDelta]);
const windows = failpoints.filter((point) => !elsewhereToo.has(point));

const folder = useSharedFolder();
// Two processes per test, on a machine with two cores.
const limit = pLimit(3);
const serve = useServe({ segmentRecords: 7 });
let unbroken: Buffer;
const jobs: Job[] = [];

beforeAll(async () => {
  const job = await newJob('unbroken');
  expect(await enrichJob(job)).toMatchObject({ exitCode: 0 });
  unbroken = await readFile(job.output);
});

describe('a job that is killed', () => {
  it.concurrent.each(windows)('%s', (point) =>
    limit(async () => {
      const job = await newJob(point);
      await killJobAt(job, `${point}:${passing[point] ?? 1}`);
      const { uploads } = await finish(job);
      if (ambiguousWindows.includes(point)) expect(uploads.ambiguous).toBeGreaterThan(0);
    }),
  );

  it.concurrent.each(unsyncedWindows)('%s, by a power failure', (point) =>
    limit(async () => {
      const job = await newJob(`power-${point}`);
      await killJobAt(job, `${point}:${passing[point] ?? 1}`);
      const taken = await failPower(job.stateDir);
      // In the other windows a change of another chunk may have been synced meanwhile.
      if (point === 'after-last-merge-before-publishing') expect(taken).toBeGreaterThan(0);
      await finish(job);
    }),
  );

  it.concurrent('twice, in different windows', () =>
    limit(async () => {
      const job = await newJob('twice');
      await killJobAt(job, 'after-post-before-commit:2');
      await killJobAt(job, 'after-work-write-before-commit:2');
      await finish(job);
    }));

  it.concurrent('again while it sends an ambiguous chunk once more, and while it publishes', () =>
    limit(async () => {
      const job = await newJob('thrice');
      await killJobAt(job, 'after-post-before-commit:6');
      await killJobAt(job, 'after-post-before-commit');
      await killJobAt(job, 'after-rename-before-manifest');
      const { uploads } = await finish(job);
      expect(uploads).toMatchObject({ accepted: chunks, ambiguous: 2, resubmitted: 2 });
    }));

  it('has paid no chunk with a known folio twice, and reports every other additional upload', async () => {
    const served = await serve.served();
    for (const job of jobs) {
      const pipeline = job.folder.slice(job.folder.lastIndexOf('/') + 1);
      const names = served.map(({ fileName }) => fileName).filter((name) => name.startsWith(`${pipeline}-2`));
      const uploads = uploadsOf(job);
      const accepted = uploads.filter(({ state }) => state === 'accepted');
      const ambiguous = uploads.filter(({ state }) => state === 'ambiguous').map(({ fileName }) => fileName);
      expect(new Set(names).size, `${pipeline}: an upload's name is sent once`).toBe(names.length);
      expect(accepted.map(({ chunk }) => chunk).sort(), pipeline).toEqual([1, 2, 3, 4, 5, 6]);
      expect(names, pipeline).toEqual(expect.arrayContaining(accepted.map(({ fileName }) => fileName)));
      const unknown = names.filter((name) => !accepted.some(({ fileName }) => fileName === name));
      expect(ambiguous, pipeline).toEqual(expect.arrayContaining(unknown));
    }
    expect(jobs).toHaveLength(windows.length + unsyncedWindows.length + 3);
  });
});

describe('a service that is killed', () => {
  it('and started again on its port and data is waited for, and nothing is lost or paid twice', async () => {
    const data = join(await folder(), 'killed-service');
    const first = await spawnServe(data, { recordsPerSecond: 40, segmentRecords: 7 });
    const job = await createJob(await folder(), { pipeline: 'outage', baseUrl: first.url });
    const child = spawnCli(['run', job.config, '--json', '--log-level', 'debug'], { env: job.env });
    await child.waitFor('stderr', /chunk 2 finished/);
    // No upload may be in flight, because it would become ambiguous.
    await child.waitFor('stderr', /chunk 6 submitted/);
    await first.kill();
    await child.waitFor('stderr', /track failed and is tried again/);
    const second = await openServe(data, { port: first.port, segmentRecords: 7 });
    const { code, stdout, stderr } = await child.ended;
    await second.stop();
    expect(code, stderr).toBe(0);
    expect(await readFile(job.output)).toEqual(unbroken);
    const { uploads } = jsonLines(stdout).at(-1) as { uploads: object };
    expect(uploads).toEqual({ accepted: chunks, ambiguous: 0, resubmitted: 0 });
    expect(servedFolios(data)).toHaveLength(chunks);
  });
});

async function newJob(pipeline: string): Promise<Job> {
  const settings = { concurrency: { uploads: 2, folios: 4, downloads: 2 } };
  const job = await createJob(await folder(), { pipeline, baseUrl: serve.url, settings });
  jobs.push(job);
  return job;
}

/** Makes the same job again. */
async function finish(job: Job): Promise<RunSummary> {
  const summary = await enrichJob(job);
  expect(summary.exitCode).toBe(0);
  await expectWhole(job);
  return summary;
}

/** Expects the same files as without the kill, and no others. */
async function expectWhole(job: Job): Promise<void> {
  expect((await readFile(job.output)).equals(unbroken)).toBe(true);
  const out = ['', '._REHEARSAL', '.manifest.json'].map((end) => `out/enriched.csv${end}`);
  const left = (await filesUnder(job.folder)).filter((file) => file.startsWith('out/'));
  expect(left.sort()).toEqual(out.sort());
  const unfinished = (await filesUnder(job.stateDir)).filter((file) =>
    /\.(tmp|partial)$|\/chunk-/.test(file),
  );
  expect(unfinished).toEqual([]);
}

interface ToldUpload {
  readonly chunk: number;
  readonly fileName: string;
  readonly state: string;
}

/** The uploads in the checkpoint. */
function uploadsOf(job: Job): ToldUpload[] {
  const db = openSqlite(join(job.stateDir, 'checkpoint.db'), { readonly: true });
  try {
    return db.prepare<[], ToldUpload>('SELECT chunk, file_name AS fileName, state FROM uploads').all();
  } finally {
    db.close();
  }
}
