/**
 * An interrupted publishing is finished before anything else starts, and nothing that was done is undone: rule "A file
 * appears whole", docs/architecture.md#a-file-appears-whole.
 */
import { existsSync, readFileSync } from 'node:fs';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  collect,
  type Failpoint,
  type JobEvent,
  openCheckpointReader,
  publish,
  type Run,
  type RunOptions,
} from '../../../pipelines/index.js';
import {
  expectEnriched,
  expectSuccess,
  failingAmong,
  type Job,
  withJob,
} from '../../helpers/jobs/fake-service-job.js';
import { all, behaviour, stopAt, unbrokenOutput } from '../../helpers/jobs/interrupted-job.js';
import { readRaw, sourceText } from '../../helpers/jobs/sample-source.js';

/** Stops a run in a window, as a kill would. */
function killedAt(point: Failpoint, nth = 1): RunOptions {
  let passed = 0;
  return {
    at: (here) => {
      if (here === point && ++passed === nth) throw new Error(`killed at ${point}`);
    },
  };
}

/** Newest first. */
async function runsOf(job: Job): Promise<readonly Run[]> {
  const reader = (await openCheckpointReader(job.config().stateDir))!;
  try {
    return await reader.runs('hostile');
  } finally {
    await reader.close();
  }
}

/** The files beside the output when a new run starts. */
function seenAtBegin(job: Job) {
  const seen = { begun: false, run: '', marker: false, output: '', rejects: '' };
  const read = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : '');
  const at = (point: Failpoint) => {
    if (point !== 'after-run-before-chunk') return;
    seen.begun = true;
    seen.run = JSON.parse(read(`${job.outputPath}.manifest.json`) || '{}').run;
    seen.marker = existsSync(`${job.outputPath}._SUCCESS`);
    seen.output = read(job.outputPath);
    seen.rejects = read(`${job.outputPath}.rejects.csv`);
  };
  return { seen, at };
}

const windows: readonly Failpoint[] = [
  'after-publishing-before-rename',
  'after-rename-before-manifest',
  'after-manifest-before-marker',
  'after-marker-before-done',
];

describe('a publishing that was interrupted', () => {
  it.concurrent.each(windows)('%s is finished before a changed source starts a new run', async (point) => {
    await withJob({ behaviour }, async (job) => {
      await expect(job.enrich({}, killedAt(point))).rejects.toThrow('killed');
      const [old] = await runsOf(job);
      expect(old).toMatchObject({ state: 'publishing' });
      const requests = job.service.seen.length;
      await writeFile(job.sourcePath, sourceText(30));
      const { seen, at } = seenAtBegin(job);
      const next = await job.enrich({}, { at });
      expect(seen).toMatchObject({ begun: true, run: old!.id, marker: true, output: await unbrokenOutput() });
      expect(next).toMatchObject({ found: 'new', exitCode: 0, counts: { read: 30 } });
      await expectEnriched(job);
      expect((await runsOf(job)).map(({ id, state }) => [id, state])).toEqual([
        [next.run, 'done'],
        [old!.id, 'done'],
      ]);
      expect(job.service.seen.slice(requests).filter(({ operation }) => operation === 'upload')).toHaveLength(
        3,
      );
    });
  });

  it('is finished by --new, which then begins a run of a changed source only', async () => {
    await withJob({ behaviour }, async (job) => {
      const killed = killedAt('after-rename-before-manifest');
      await expect(job.enrich({}, killed)).rejects.toThrow('killed');
      const [old] = await runsOf(job);
      const same = await job.enrich({}, { fresh: true });
      expect(same).toMatchObject({ found: 'done', run: old!.id, exitCode: 0 });
      await expectSuccess(job, same, all);
      expect(job.service.count('upload')).toBe(6);

      await expect(
        job.enrich({}, { ...killedAt('after-rename-before-manifest'), fresh: true }),
      ).rejects.toThrow('killed');
      const [second] = await runsOf(job);
      expect(second!.id).not.toBe(old!.id);
      await writeFile(job.sourcePath, sourceText(30));
      const { seen, at } = seenAtBegin(job);
      const other = await job.enrich({}, { at, fresh: true });
      expect(seen).toMatchObject({ run: second!.id, marker: true, output: await unbrokenOutput() });
      expect(other).toMatchObject({ found: 'new', exitCode: 0, counts: { read: 30 } });
      expect((await runsOf(job)).map(({ state }) => state)).toEqual(['done', 'done', 'done']);
      expect(job.service.count('upload')).toBe(15);
    });
  });

  it('with an unchanged source is finished, and nothing is sent', async () => {
    await withJob({ behaviour }, async (job) => {
      await expect(job.enrich({}, killedAt('after-rename-before-manifest'))).rejects.toThrow('killed');
      const requests = job.service.seen.length;
      const summary = await job.enrich();
      await expectSuccess(job, summary, all);
      expect(job.service.seen.length).toBe(requests);
    });
  });

  it.each(['after-publishing-before-rename', 'after-rename-before-manifest'] as const)(
    'writes the rejected records again that were lost %s',
    async (point) => {
      await withJob({ behaviour }, async (job) => {
        const bad = 'x,"Broken\n';
        await writeFile(job.sourcePath, `${sourceText(20)}${bad}`);
        const changes = { source: { maxRejected: 1 } };
        await job.enrich(changes);
        const listed = await readFile(`${job.outputPath}.rejects.csv`);
        await writeFile(job.sourcePath, `${sourceText(30)}${bad}`);
        await expect(job.enrich(changes, killedAt(point))).rejects.toThrow('killed');
        const [{ id }] = (await runsOf(job)) as [Run];
        const requests = job.service.seen.length;
        await rm(`${job.outputPath}.rejects.csv.${id}.partial`);
        await expect(job.enrich(changes)).rejects.toMatchObject({ code: 'WORK_FILE_CHANGED', exitCode: 5 });
        expect(await job.enrich(changes)).toMatchObject({ exitCode: 0, counts: { read: 31, rejected: 1 } });
        const again = await readFile(`${job.outputPath}.rejects.csv`);
        expect(again.equals(listed)).toBe(false);
        expect(again.toString()).toContain('Broken');
        expect(job.service.seen.length).toBe(requests);
      });
    },
  );

  it.each([[false], [true]])('reports the id of its own run (fresh: %s)', async (fresh) => {
    await withJob({ behaviour }, async (job) => {
      await expect(job.enrich({}, killedAt('after-rename-before-manifest'))).rejects.toThrow('killed');
      const reported: string[] = [];
      const onProgress = (event: JobEvent) => {
        if (event.type === 'run') reported.push(event.run);
      };
      const summary = await job.enrich({}, { fresh, onProgress });
      expect(reported.at(-1)).toBe(summary.run);
    });
  });

  it('is finished at its old path even if the config has changed, then published by the new config', async () => {
    await withJob({ behaviour }, async (job) => {
      await expect(job.enrich({}, killedAt('after-publishing-before-rename'))).rejects.toThrow('killed');
      const changes = { chunks: { maxRecords: 20 }, output: { path: 'out/other.csv', prefix: 'p_' } };
      const summary = await job.enrich(changes);
      const other = path.join(job.folder, 'out/other.csv');
      expect(summary).toMatchObject({ found: 'done', publication: 2, output: { path: other } });
      expect(await readFile(other, 'utf8')).toContain(',p_status,');
      expect(await job.output()).toBe(await unbrokenOutput());
      expect(await job.manifest()).toMatchObject({ publication: 1, status: 'SUCCESS' });
      expect(await job.published()).toContain('enriched.csv._SUCCESS');
    });
  });

  it('is finished by collect, too', async () => {
    await withJob({ behaviour }, async (job) => {
      await expect(job.enrich({}, killedAt('after-manifest-before-marker'))).rejects.toThrow('killed');
      await expectSuccess(job, await collect(job.config()), all);
    });
  });

  /** Three bad records among ten. */
  const withRejects = (note: string) => {
    const [head, ...lines] = sourceText(8).split('\n');
    return [head, `bad,record,${note}`, ...lines].join('\n');
  };

  it.each(['after-publishing-before-rename', 'after-rename-before-manifest'] as const)(
    '%s publishes the rejected records of its own source',
    async (point) => {
      const setup = {
        behaviour,
        files: { 'source.csv': withRejects('of the old source') },
        config: { source: { path: 'source.csv', maxRejected: '100%' } },
      };
      await withJob(setup, async (job) => {
        await expect(job.enrich({}, killedAt(point))).rejects.toThrow('killed');
        await writeFile(job.sourcePath, withRejects('of the new source'));
        const { seen, at } = seenAtBegin(job);
        const next = await job.enrich({}, { at });
        expect(seen.rejects).toContain('of the old source');
        expect(seen.rejects.trim().split('\n')).toHaveLength(2);
        expect(next.counts).toMatchObject({ read: 9, rejected: 1 });
        expect(await readFile(`${job.outputPath}.rejects.csv`, 'utf8')).toContain('of the new source');
        expect((await job.published()).filter((name) => name.endsWith('.partial'))).toEqual([]);
      });
    },
  );

  it('removes the old rejects if the new source has none', async () => {
    const setup = {
      behaviour,
      files: { 'source.csv': withRejects('of the old source') },
      config: { source: { path: 'source.csv', maxRejected: '100%' } },
    };
    await withJob(setup, async (job) => {
      await expect(job.enrich({}, killedAt('after-rename-before-manifest'))).rejects.toThrow('killed');
      await writeFile(job.sourcePath, sourceText(8));
      await expectSuccess(job, await job.enrich(), failingAmong(8));
    });
  });
});

describe('an output whose rewriting is interrupted', () => {
  const late = ['after-publishing-before-rename', 'after-manifest-before-marker'] as const;
  const interruptions: readonly (readonly [string, () => RunOptions, string])[] = [
    ['by a kill', () => killedAt('after-work-write-before-commit', 3), 'killed'],
    ['by a kill before the last step', () => killedAt('after-last-merge-before-publishing'), 'killed'],
    ['by a signal', () => stopAt('after-merged-before-next', 3), 'SIGTERM'],
  ];

  it.concurrent.each(interruptions)(
    '%s leaves the run done and the old output alone',
    async (_, stop, why) => {
      await withJob({ behaviour, config: { upload: { keyColumn: null } } }, async (job) => {
        const first = await job.enrich();
        const before = await job.output();
        const { ino, mtimeMs } = await stat(job.outputPath);
        await expect(publish(job.config(), first.run, stop())).rejects.toThrow(why);
        expect(await runsOf(job)).toMatchObject([{ id: first.run, state: 'done' }]);
        expect(await job.output()).toBe(before);
        expect(await stat(job.outputPath)).toMatchObject({ ino, mtimeMs });
        expect(await job.published()).toContain('enriched.csv._SUCCESS');

        const requests = job.service.seen.length;
        const thisProcess = expect.objectContaining({ bytes: { downloaded: 0, uploaded: 0 } });
        expect(await job.enrich()).toEqual({ ...first, found: 'done', thisProcess });
        expect(job.service.seen.length).toBe(requests);

        const again = await publish(job.config(), first.run);
        await expectSuccess(job, again, all);
        expect(await job.output()).toBe(before);
        expect(job.service.seen.length).toBe(requests);
      });
    },
  );

  it('does not block a new run over a changed source', async () => {
    await withJob({ behaviour }, async (job) => {
      const first = await job.enrich();
      const stop = killedAt('after-work-write-before-commit', 3);
      await expect(publish(job.config(), first.run, stop)).rejects.toThrow('killed');
      await writeFile(job.sourcePath, sourceText(30));
      const next = await job.enrich();
      expect(next).toMatchObject({ found: 'new', exitCode: 0, counts: { read: 30 } });
      expect(next.run).not.toBe(first.run);
      await expectEnriched(job);

      await writeFile(job.sourcePath, sourceText(60));
      await expectSuccess(job, await publish(job.config(), first.run), all);
      expect(await job.output()).toBe(await unbrokenOutput());
    });
  });

  it.each(late)('%s is finished by the same command', async (point) => {
    await withJob({ behaviour }, async (job) => {
      const { run } = await job.enrich();
      await expect(publish(job.config(), run, killedAt(point))).rejects.toThrow('killed');
      await expectSuccess(job, await publish(job.config(), run), all);
      expect(await job.output()).toBe(await unbrokenOutput());
    });
  });

  it.each(windows)(
    '%s, at another path, is finished by the same command, and the first output stays',
    async (point) => {
      await withJob({ behaviour }, async (job) => {
        const { run } = await job.enrich();
        const elsewhere = { output: { path: 'out/again.csv', columns: ['id'] } };
        await expect(publish(job.config(elsewhere), run, killedAt(point))).rejects.toThrow('killed');
        const { output } = await publish(job.config(elsewhere), run);
        expect(readRaw(await readFile(output!.path, 'utf8'))).toHaveLength(60);
        expect(await job.published()).toEqual([
          ...['again.csv', 'again.csv._SUCCESS', 'again.csv.manifest.json'],
          ...['enriched.csv', 'enriched.csv._SUCCESS', 'enriched.csv.manifest.json'],
        ]);
        expect(await job.output()).toBe(await unbrokenOutput());
      });
    },
  );
});
