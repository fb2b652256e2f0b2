/** A state folder that was put back from an older copy: it does not know what was paid after the copy. */
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { collect, planRun, publish, retry } from '../../../pipelines/index.js';
import { systemClock } from '../../../src/streams/clock.js';
import { type Changes, expectSuccess, type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { all, behaviour, stopAt, unbrokenOutput } from '../../helpers/jobs/interrupted-job.js';
import { sourceText } from '../../helpers/jobs/sample-source.js';
import { throwAt } from '../../helpers/jobs/throw-at.js';

const signal = new AbortController().signal;
const hour = 3_600_000;
/** What a command is given that starts some hours from now. */
const inHours = (hours: number) => ({ clock: { ...systemClock, now: () => Date.now() + hours * hour } });
const behind = {
  code: 'STATE_BEHIND',
  exitCode: 9,
  message: expect.stringContaining('publication 2'),
  hint: expect.stringContaining('foliopipe run --yes'),
};

describe('a state that is older than the output', () => {
  it.each<[string, Changes]>([
    ['a file', {}],
    ['a folder', { output: { path: 'out/nights/' } }],
  ])('pays nothing before a person says so, where the output is %s', async (_, changes) => {
    await withJob({ behaviour, config: changes }, async (job) => {
      await job.enrich();
      await copyState(job, 'older');
      await writeFile(job.sourcePath, sourceText(50));
      const newer = await job.enrich({}, inHours(1));
      await putBack(job, 'older');
      const uploads = uploadsSeen(job);
      await expect(planRun(job.config(), { signal, ...inHours(2) })).rejects.toMatchObject(behind);
      expect(await job.failure({}, inHours(2))).toMatchObject({ ...behind, facts: { run: newer.run } });
      expect(uploadsSeen(job)).toBe(uploads);
      const again = await job.enrich({}, { ...inHours(2), yes: true });
      // Loaders have seen the number 2 already.
      expect(again).toMatchObject({
        state: 'done',
        counts: { read: 50 },
        publication: newer.publication! + 1,
      });
      // The next night knows its own output.
      await writeFile(job.sourcePath, sourceText(40));
      expect(await job.enrich({}, inHours(3))).toMatchObject({ state: 'done', counts: { read: 40 } });
    });
  });

  it('does not continue a run that was published after the copy', async () => {
    await withJob({ behaviour }, async (job) => {
      await job.enrich();
      await writeFile(job.sourcePath, sourceText(50));
      const at = throwAt('after-run-before-chunk');
      await expect(job.enrich({}, { ...inHours(1), at })).rejects.toThrow('killed');
      await copyState(job, 'older');
      await job.enrich({}, inHours(2));
      const output = await job.output();
      await putBack(job, 'older');
      const uploads = uploadsSeen(job);
      expect(await job.failure({}, inHours(3))).toMatchObject(behind);
      await expect(planRun(job.config(), { signal, ...inHours(3) })).rejects.toMatchObject(behind);
      await expect(collect(job.config(), inHours(3))).rejects.toMatchObject(behind);
      expect(uploadsSeen(job)).toBe(uploads);
      expect(await job.output()).toBe(output);
    });
  });

  it('does not replace the newer output by an older one', async () => {
    await withJob({ behaviour }, async (job) => {
      const { run } = await job.enrich();
      const before = await readFile(job.sourcePath);
      await copyState(job, 'older');
      await writeFile(job.sourcePath, sourceText(50));
      await job.enrich({}, inHours(1));
      await putBack(job, 'older');
      await writeFile(job.sourcePath, before);
      await expect(publish(job.config(), run, inHours(2))).rejects.toMatchObject(behind);
    });
  });

  it('pays nothing where each day has an output of its own either, and numbers go on above those of the days before', async () => {
    await withJob({ behaviour, config: { output: { path: 'out/{date}.csv' } } }, async (job) => {
      await job.enrich({}, inHours(-72));
      await copyState(job, 'older');
      await writeFile(job.sourcePath, sourceText(50));
      await job.enrich({}, inHours(-48));
      await putBack(job, 'older');
      const uploads = uploadsSeen(job);
      await expect(planRun(job.config(), { signal })).rejects.toMatchObject(behind);
      expect(await job.failure()).toMatchObject(behind);
      expect(uploadsSeen(job)).toBe(uploads);
      expect(await job.enrich({}, { yes: true })).toMatchObject({ publication: 3 });
      await writeFile(job.sourcePath, sourceText(40));
      expect(await job.enrich({}, inHours(24))).toMatchObject({ state: 'done', publication: 4 });
    });
  });

  it.each<[string, Changes]>([
    ['a file', {}],
    ['a folder', { output: { path: 'out/nights/' } }],
  ])(
    'is not taken for newer after a sample, which looks at no other output than its own: %s',
    async (_, changes) => {
      await withJob({ behaviour, config: changes }, async (job) => {
        await job.enrich();
        await copyState(job, 'older');
        await writeFile(job.sourcePath, sourceText(50));
        await job.enrich({}, inHours(1));
        await putBack(job, 'older');
        await job.enrich({}, { ...inHours(2), limit: 3 });
        expect(await job.failure({}, inHours(3))).toMatchObject(behind);
      });
    },
  );

  it('is not taken for newer because of a run that began before the publication, which an older run has made', async () => {
    await withJob({ behaviour }, async (job) => {
      const { run } = await job.enrich({}, inHours(-3));
      const before = await readFile(job.sourcePath);
      await writeFile(job.sourcePath, sourceText(50));
      await job.enrich({}, inHours(-2));
      await copyState(job, 'older');
      await writeFile(job.sourcePath, before);
      const { publication } = await retry(job.config(), run, inHours(-1));
      await putBack(job, 'older');
      const uploads = uploadsSeen(job);
      const told = { ...behind, message: expect.stringContaining(`publication ${publication}`) };
      await expect(retry(job.config(), run)).rejects.toMatchObject(told);
      expect(uploadsSeen(job)).toBe(uploads);
    });
  });

  it('asks once: a run that began after that goes on', async () => {
    await withJob({ behaviour }, async (job) => {
      await job.enrich();
      await copyState(job, 'older');
      await writeFile(job.sourcePath, sourceText(55));
      await job.enrich({}, inHours(1));
      await putBack(job, 'older');
      await writeFile(job.sourcePath, sourceText(50));
      const at = throwAt('after-run-before-chunk');
      await expect(job.enrich({}, { ...inHours(2), at, yes: true })).rejects.toThrow('killed');
      expect(await job.enrich({}, inHours(3))).toMatchObject({ state: 'done', counts: { read: 50 } });
    });
  });
});

describe('a state that was removed', () => {
  it('pays nothing before a person says so; then the output is replaced, and the numbers of publications go on', async () => {
    await withJob({ behaviour }, async (job) => {
      await job.enrich();
      await rm(path.join(job.folder, '.foliopipe'), { recursive: true });
      const uploads = uploadsSeen(job);
      const unknown = {
        ...behind,
        message: expect.stringMatching(/is publication 1 of .* knows no run of it: .* paid for again/),
        facts: { publication: 1, newest: null },
      };
      await expect(planRun(job.config(), { signal })).rejects.toMatchObject(unknown);
      expect(await job.failure()).toMatchObject(unknown);
      expect(uploadsSeen(job)).toBe(uploads);
      const again = await job.enrich({}, { yes: true });
      await expectSuccess(job, again, all);
      expect(again.publication).toBe(2);
    });
  });

  it.each<[string, Changes]>([
    ['a file', {}],
    ['a folder', { output: { path: 'out/nights/' } }],
  ])('is noticed by the rows of an unfinished run, where the output is %s', async (_, changes) => {
    await withJob({ behaviour, config: changes }, async (job) => {
      await interruptMerging(job);
      const uploads = uploadsSeen(job);
      const rows = { ...behind, message: expect.stringMatching(/\.partial holds rows of run \S+, which/) };
      const other = { stateDir: 'other-state' };
      expect(await job.failure(other)).toMatchObject(rows);
      await expect(planRun(job.config(other), { signal })).rejects.toMatchObject(rows);
      expect(uploadsSeen(job)).toBe(uploads);
      await writeFile(job.sourcePath, sourceText(50));
      const chosen = await job.enrich(other, { yes: true });
      expect(chosen).toMatchObject({ state: 'done', counts: { read: 50 } });
      await writeFile(job.sourcePath, sourceText(40));
      expect(await job.enrich(other)).toMatchObject({ state: 'done', counts: { read: 40 } });
    });
  });

  it('goes on where it is put back, after another one was refused', async () => {
    await withJob({ behaviour }, async (job) => {
      await interruptMerging(job);
      expect(await job.failure({ stateDir: 'other-state' })).toMatchObject({ code: 'STATE_BEHIND' });
      await expectSuccess(job, await job.enrich(), all);
      expect(await job.output()).toBe(await unbrokenOutput());
    });
  });

  it('is noticed where each day has an output of its own too, for a month', async () => {
    await withJob({ behaviour, config: { output: { path: 'out/{date}.csv' } } }, async (job) => {
      await job.enrich();
      await rm(path.join(job.folder, '.foliopipe'), { recursive: true });
      const unknown = { ...behind, message: expect.stringMatching(/is publication 1 of .* knows no run/) };
      expect(await job.failure({}, inHours(31 * 24))).toMatchObject(unknown);
      expect(await job.enrich({}, inHours(33 * 24))).toMatchObject({ state: 'done', publication: 1 });
    });
  });

  it.each(['out/{run}/enriched.csv', 'out/{date}-{run}.csv', 'out/nights/of-{run}/'])(
    'is noticed where each run has an output of its own too: %s',
    async (template) => {
      await withJob({ behaviour, config: { output: { path: template } } }, async (job) => {
        // All before now: a night ahead may be another day's, which nobody looks for.
        await job.enrich({}, inHours(-3));
        await job.enrich({}, { ...inHours(-2), fresh: true });
        await rm(path.join(job.folder, '.foliopipe'), { recursive: true });
        const unknown = { ...behind, message: expect.stringMatching(/is publication 2 of .* knows no run/) };
        await job.enrich({ pipeline: 'beside', stateDir: 'beside' }, inHours(-1));
        const uploads = uploadsSeen(job);
        await expect(planRun(job.config(), { signal })).rejects.toMatchObject(unknown);
        expect(await job.failure()).toMatchObject(unknown);
        expect(uploadsSeen(job)).toBe(uploads);
        const again = await job.enrich({}, { yes: true });
        expect(again).toMatchObject({ state: 'done', publication: 3 });
        expect(await job.enrich({}, inHours(1))).toMatchObject({ found: 'done' });
      });
    },
  );
});

const uploadsSeen = ({ service }: Job) => service.count('upload');

async function copyState({ folder }: Job, name: string): Promise<void> {
  await cp(path.join(folder, '.foliopipe'), path.join(folder, name), { recursive: true });
}

async function putBack({ folder }: Job, name: string): Promise<void> {
  await rm(path.join(folder, '.foliopipe'), { recursive: true });
  await cp(path.join(folder, name), path.join(folder, '.foliopipe'), { recursive: true });
}

async function interruptMerging(job: Job): Promise<void> {
  expect(await job.failure({}, stopAt('after-merged-before-next', 1))).toMatchObject({ exitCode: 143 });
}
