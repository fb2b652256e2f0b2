/** A bad night that is killed in any window, and a release that is, end as without the kill; and what the command says. */
import { createHash } from 'node:crypto';
import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { publish } from '../../../pipelines/index.js';
import {
  failingName,
  fineNames,
  type LocalJob,
  sourceOf,
  withLocalJob,
} from '../../helpers/jobs/local-job.js';
import { callMain, expectError } from '../../helpers/processes/call-main.js';
import { type CliEnd, jsonLines, killCliAt } from '../../helpers/processes/cli.js';

const good = fineNames(80).slice(40);
/** The last chunk fails, so that the first ones do not stop the uploads. */
const bad = [...fineNames(34), ...Array.from({ length: 6 }, (_, at) => failingName(at))];
const config = {
  failures: { tolerate: '5%', onExceeded: 'withhold' },
  reuse: { maxAge: '90d', maxMiss: '100%' },
};

type Files = Readonly<Record<string, string>>;

async function filesOf(job: LocalJob): Promise<Files> {
  const folder = dirname(job.output);
  const names = (await readdir(folder)).sort();
  const contents = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return Object.fromEntries(names.map((name, at) => [name, contents[at]!]));
}

/** Runs `use` with the files of a good night; the source is that of a bad one. */
function beforeBadNight(use: (job: LocalJob, before: Files) => Promise<void>): Promise<void> {
  return withLocalJob({ names: good, config }, async (job) => {
    expect(await job.enrich()).toMatchObject({ exitCode: 0 });
    const before = await filesOf(job);
    await writeFile(job.source, sourceOf(bad));
    await use(job, before);
  });
}

async function kill(job: LocalJob, armed: string, ...args: string[]): Promise<void> {
  await killCliAt(armed, [...args, job.file]);
}

async function expectNothingLeft(job: LocalJob): Promise<void> {
  const state = await readdir(job.config().stateDir, { recursive: true });
  const beside = await readdir(dirname(job.output));
  expect([...state, ...beside].filter((name) => /\.(tmp|partial)$|\/chunk-/.test(name))).toEqual([]);
}

const summaryOf = ({ stdout }: Pick<CliEnd, 'stdout'>) => jsonLines(stdout).at(-1) as Record<string, unknown>;

describe('a bad night that is killed', () => {
  it.each([
    'after-last-merge-before-publishing',
    'after-segment-before-withheld',
    'after-withheld-before-removal',
  ])('%s is withheld by the same command, and nothing is paid twice', (armed) =>
    beforeBadNight(async (job, before) => {
      await kill(job, armed, 'run');
      const isKnown = ({ name }: { name: string }) => !/\.partial$|\.foliopipe-lock/.test(name);
      const left = Object.entries(await filesOf(job)).filter(([name]) => isKnown({ name }));
      expect(Object.fromEntries(left)).toEqual(before);

      const end = await callMain(['run', job.file, '--json']);
      expect(end.code, end.stderr).toBe(9);
      expect(summaryOf(end)).toMatchObject({ state: 'withheld', published: false, exitCode: 9 });
      expect(await filesOf(job)).toEqual(before);
      await expectNothingLeft(job);
      expect(await job.served()).toHaveLength(8);
      // The next night buys the failed ones only.
      await writeFile(job.source, sourceOf([...bad, 'Fine more']));
      const next = await job.enrich({ failures: { tolerate: '100%' } });
      expect(next).toMatchObject({ origins: { sent: { records: 7 }, reused: { records: 34 } } });
    }),
  );

  it('and has left its files beside the output loses them when the next night begins', () =>
    beforeBadNight(async (job) => {
      await kill(job, 'after-withheld-before-removal', 'run');
      expect(Object.keys(await filesOf(job)).filter((name) => name.endsWith('.partial'))).toHaveLength(1);
      await writeFile(job.source, sourceOf(good));
      expect(await job.enrich()).toMatchObject({ exitCode: 0 });
      const beside = await readdir(dirname(job.output));
      expect(beside.filter((name) => name.endsWith('.partial'))).toEqual([]);
    }));

  it('and then released gives the bytes of a night that was published at once', async () => {
    let expected: Files = {};
    await beforeBadNight(async (job) => {
      await callMain(['run', job.file, '--set', 'failures.onExceeded=publish']);
      expected = await filesOf(job);
    });
    await beforeBadNight(async (job) => {
      await kill(job, 'after-withheld-before-removal', 'run');
      const run = summaryOf(await callMain(['run', job.file, '--json'])).run as string;
      expect(await callMain(['publish', run, job.file])).toMatchObject({ code: 3 });
      const name = basename(job.output);
      expect((await filesOf(job))[name]).toBe(expected[name]);
    });
  });
});

describe('a release that is killed', () => {
  it.each([
    ['after-publishing-before-rename', 'publish'],
    ['after-publishing-before-rename', 'run'],
    ['after-marker-before-done', 'run'],
  ])('%s is finished by %s', (armed, command) =>
    beforeBadNight(async (job) => {
      const { run } = await job.enrich();
      await kill(job, armed, 'publish', run);
      const end = await callMain([command, ...(command === 'publish' ? [run] : []), job.file, '--json']);
      expect(end.code, end.stderr).toBe(3);
      expect(summaryOf(end)).toMatchObject({ run, state: 'done', exitCode: 3, published: true });
      expect((await job.rows()).filter((row) => row.prediction_status === 'FAILED')).toHaveLength(6);
      await expectNothingLeft(job);
    }),
  );

  it('before it has begun to publish leaves the run withheld', () =>
    beforeBadNight(async (job, before) => {
      const { run } = await job.enrich();
      await kill(job, 'after-merged-before-next', 'publish', run);
      expect(await job.enrich()).toMatchObject({
        run,
        state: 'withheld',
        exitCode: 9,
        counts: { failed: 6 },
      });
      expect(await filesOf(job)).toEqual(before);
      expect(await publish(job.config(), run)).toMatchObject({ run, exitCode: 3, publication: 2 });
    }));
});

it('a retry of a withheld run that is killed goes on, and is withheld again or published', () =>
  beforeBadNight(async (job, before) => {
    const { run } = await job.enrich();
    await kill(job, 'after-reopened-before-retry', 'retry', run);
    const end = await callMain(['retry', run, job.file, '--json']);
    expect(end.code, end.stderr).toBe(9);
    expect(summaryOf(end)).toMatchObject({ run, state: 'withheld', uploads: { accepted: 5 } });
    expect(await filesOf(job)).toEqual(before);
    await expectNothingLeft(job);
  }));

describe('the command says', () => {
  it('why, what stays, and what to type next; and each of these commands works', () =>
    beforeBadNight(async (job, before) => {
      const here = (...args: string[]) => callMain([...args, '-c', job.file, '--log-level', 'error']);
      const night = await here('run');
      expect(night.code, night.stderr).toBe(9);
      const run = (await job.kept()).run.id;
      const first = /publication 1 of run (\S+)/.exec(night.stderr)?.[1];
      const lines = (head: string) => `rehearsal ${run} ${head}
  output    ${job.output} still holds publication 1 of run ${first}
  records   40 read = 34 successful + 6 failed (15%) + 0 unprocessed + 0
            rejected
  reasons   6 SERVICE_FAILED: no industry matches the name
  reuse     0 reused + 0 duplicates, 40 sent
  This is a rehearsal: the local service answered, so the predictions are not
  real.
  Exit 9: 6 of 40 records failed (15%), and failures.tolerate is 5%; failures.onExceeded: withhold keeps such an output back
  next: foliopipe publish -c ${job.file} ${run} publishes it as it is (exit 3)
  or: foliopipe retry -c ${job.file} ${run} sends 6 failed records once more
  or: foliopipe run -c ${job.file} --set failures.tolerate=15% publishes it (exit 0)
`;
      const untimed = (text: string) => text.replace(/^ {2}time .*\n(?: {12}.*\n)*/m, '');
      expect(untimed(night.stderr)).toContain(lines('is complete, and its output is withheld'));
      const again = await here('run');
      expect(again).toMatchObject({ code: 9 });
      expect(untimed(again.stderr)).toContain(lines('is still withheld; nothing was sent'));
      expect(await filesOf(job)).toEqual(before);

      const status = await here('status');
      expect(status).toMatchObject({ code: 0 });
      expect(status.stdout).toContain(lines('is complete, and its output is withheld').slice(0, 40));
      expect(status.stdout).not.toContain('These need');
      const source = await readFile(job.source);
      const needed = `with ${source.length} bytes, sha256 ${createHash('sha256').update(source).digest('hex')}`;
      await appendFile(job.source, 'One more,1 Main St,MT\n');
      const changed = await callMain(['status', job.file]);
      expect(changed.stdout).toContain(
        `  These need the source that the run has read: ${job.source} ${needed}`,
      );
      for (const command of ['publish', 'retry']) {
        const refused = await callMain([command, run, job.file, '--log-level', 'error']);
        expectError(
          refused,
          4,
          /SOURCE_CHANGED.*publish, retry and adopt of run \S+ need the source that it has read/s,
        );
        expect(refused.stderr).toContain(`"${job.source}" ${needed}`);
      }
      await writeFile(job.source, source);
      const runs = await here('runs', '--json');
      expect(jsonLines(runs.stdout)[0]).toMatchObject({
        run,
        state: 'withheld',
        exitCode: 9,
        publication: null,
      });
      expect((await here('runs')).stdout).toMatch(/exit 9, withheld/);
      const plan = await here('plan');
      expect(plan.stdout).toContain(`run ${run} has done this source already and is withheld`);
      expect(plan.stdout).toMatch(/^chunks\n {2}\d+ chunks? with .* in all, nothing to upload$/m);
      const raised = await here('plan', '--set', 'failures.tolerate=15%');
      expect(raised.stdout).toContain('and publish its output: failures.tolerate is 15%');

      const released = await here('run', '--set', 'failures.tolerate=15%');
      expect(released.code, released.stderr).toBe(0);
      expect(released.stderr).toContain(
        `rehearsal ${run} was withheld; nothing was sent. It is published now, as publication 2: failures.tolerate is 15%`,
      );
    }));

  it('once it is published with exit 3, that its next commands need the source of then', () =>
    beforeBadNight(async (job) => {
      const { run } = await job.enrich();
      expect((await callMain(['publish', run, job.file])).code).toBe(3);
      const status = async () => (await callMain(['status', job.file])).stdout;
      expect(await status()).not.toContain('need the source');
      await appendFile(job.source, 'One more,1 Main St,MT\n');
      expect(await status()).toContain('\n  retry and publish need the source that the run has read: ');
      expect((await callMain(['publish', run, job.file, '--set', 'failures.tolerate=15%'])).code).toBe(4);
      expect((await callMain(['run', job.file, '--set', 'failures.tolerate=50%'])).code).toBe(0);
      expect(await status()).not.toContain('need the source');
    }));

  it('that a partial publication contradicts it, before anything is sent', () =>
    beforeBadNight(async (job, before) => {
      const end = await callMain(['run', job.file, '--publish-partial', '--max-duration', '1h']);
      expect(end.code).toBe(2);
      expect(end.stderr).toMatch(/\[PARTIAL_WITHHELD\]\n {2}next: .*--set failures\.onExceeded=publish/);
      expect(await filesOf(job)).toEqual(before);
    }));
});
