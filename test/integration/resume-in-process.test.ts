/** Stopped at any moment and begun again: the same bytes as in one go, and nothing paid twice. */
import { appendFile, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  ConfigError,
  type CrashPoint,
  InterruptedError,
  openCheckpointReader,
  publish,
  type RunOptions,
  SourceError,
} from '../../pipelines/index.js';
import type { Behaviour } from '../helpers/other-service.js';
import {
  expectEnriched,
  expectSuccess,
  failingAmong,
  type Job,
  withJob,
} from '../helpers/other-service-job.js';
import { sourceText } from '../helpers/other-service-source.js';
import { shuffled } from '../helpers/other-service-troubles.js';

const all = failingAmong(60);
const behaviour: Behaviour = {
  results: shuffled,
  partRecords: 4,
  finishedAtPoll: ({ chunk }) => (chunk % 3) + 1,
};
let unbroken = '';

beforeAll(() =>
  withJob({ behaviour }, async (job) => {
    await job.enrich();
    unbroken = await job.output();
  }),
);

/** Aborts when a window is passed for the `nth` time. */
function stopAt(point: CrashPoint, nth: number): RunOptions {
  const controller = new AbortController();
  let passed = 0;
  return {
    signal: controller.signal,
    at: (here) => {
      if (here !== point) return;
      passed += 1;
      if (passed === nth) controller.abort(new InterruptedError('SIGTERM'));
    },
  };
}

async function interrupt(job: Job, options: RunOptions): Promise<void> {
  expect(await job.failure({}, options)).toBeInstanceOf(InterruptedError);
  expect((await job.published()).filter((name) => !name.endsWith('.partial'))).toEqual([]);
}

/** Chunks of the unfinished run whose folio is known and not yet finished. */
async function openFolios(job: Job): Promise<number[]> {
  const reader = (await openCheckpointReader(job.config().stateDir))!;
  try {
    const run = await reader.unfinishedRun('hostile');
    const open = run === undefined ? [] : await reader.chunksIn(run.id, ['submitted'], 0, 100);
    return open.map(({ number }) => number);
  } finally {
    await reader.close();
  }
}

/** Runs again to the end; what is found on the disk and at the service must be as if nothing had happened. */
async function expectResumed(job: Job): Promise<void> {
  const before = job.service.seen.length;
  const open = await openFolios(job);
  const summary = await job.enrich();
  await expectSuccess(job, summary, all);
  expect(await job.output()).toBe(unbroken);
  await expectEnriched(job);

  expect(summary.uploads.accepted).toBe(6);
  expect(job.service.folios.length - 6).toBeLessThanOrEqual(summary.uploads.ambiguous);
  const again = job.service.seen.slice(before);
  const upTo = again.findIndex(({ operation }) => operation === 'upload');
  const asked = again.slice(0, upTo < 0 ? undefined : upTo).filter(({ operation }) => operation === 'track');
  for (const chunk of open) expect(asked.some((one) => one.chunk === chunk)).toBe(true);
  for (const chunk of open) {
    expect(again.some((one) => one.operation === 'upload' && one.chunk === chunk)).toBe(false);
  }
}

describe('a run that was stopped', () => {
  const moments: readonly (readonly [CrashPoint, number])[] = [
    ['after-run-before-chunk', 1],
    ['after-cut-before-intent', 3],
    ['after-intent-before-post', 2],
    ['after-accepted-before-poll', 1],
    ['after-accepted-before-poll', 4],
    ['after-finished-reply-before-commit', 2],
    ['after-finished-before-download', 3],
    ['after-part-file-before-commit', 4],
    ['after-downloaded-before-merge', 1],
    ['after-columns-before-merge', 1],
    ['after-work-write-before-commit', 2],
    ['after-merged-before-next', 3],
  ];

  it.concurrent.each(moments)('at %s, time %i, goes on', async (point, nth) => {
    await withJob({ behaviour }, async (job) => {
      await interrupt(job, stopAt(point, nth));
      await expectResumed(job);
    });
  });

  it('while the source is checked, begins with nothing paid', async () => {
    await withJob({ behaviour }, async (job) => {
      const controller = new AbortController();
      const onScan = () => controller.abort(new InterruptedError());
      await interrupt(job, { signal: controller.signal, onScan });
      expect(job.service.seen).toEqual([]);
      await expectResumed(job);
    });
  });

  it('while it waits for folios, goes on, whatever happened meanwhile', async () => {
    await withJob({ behaviour: { ...behaviour, finishedAtPoll: () => Infinity } }, async (job) => {
      const controller = new AbortController();
      const running = job.failure({}, { signal: controller.signal });
      await expect
        .poll(() => job.service.count('track'), { interval: 5, timeout: 20_000 })
        .toBeGreaterThan(12);
      controller.abort(new InterruptedError());
      expect(await running).toBeInstanceOf(InterruptedError);
      expect(job.service.folios.length).toBe(4);
      job.service.behaviour = behaviour;
      await expectResumed(job);
      expect(job.service.folios.length).toBe(6);
    });
  });

  it('again and again, comes to an end', async () => {
    await withJob({ behaviour }, async (job) => {
      await interrupt(job, stopAt('after-accepted-before-poll', 2));
      await interrupt(job, stopAt('after-downloaded-before-merge', 1));
      await interrupt(job, stopAt('after-work-write-before-commit', 1));
      await interrupt(job, stopAt('after-merged-before-next', 1));
      await expectResumed(job);
    });
  });

  it('before it began, did nothing', async () => {
    await withJob({ behaviour }, async (job) => {
      await interrupt(job, { signal: AbortSignal.abort(new InterruptedError()) });
      expect(await readdir(job.folder)).not.toContain('.foliopipe');
    });
  });

  it('ends with what the signal says', async () => {
    await withJob({ behaviour }, async (job) => {
      const error = await job.failure({}, { signal: AbortSignal.abort() });
      expect(error).toMatchObject({ name: 'AbortError' });
    });
  });
});

describe('files that are not as they were left', () => {
  async function partFiles(job: Job): Promise<string[]> {
    const runs = path.join(job.config().stateDir, 'runs');
    const [run] = await readdir(runs);
    const names = (await readdir(path.join(runs, run!))).filter((name) => name.startsWith('part-'));
    return names.sort().map((name) => path.join(runs, run!, name));
  }

  it('fetches lost and damaged parts again, the first ones too', async () => {
    await withJob({ behaviour, config: { concurrency: { folios: 1, uploads: 1 } } }, async (job) => {
      await interrupt(job, stopAt('after-downloaded-before-merge', 1));
      const [first, ...others] = await partFiles(job);
      await rm(first!);
      for (const file of others) await writeFile(file, 'no gzip at all');
      await expectResumed(job);
      expect(job.service.folios.length).toBe(6);
    });
  });

  it('fetches a part again that lost its end while it waited for its turn', async () => {
    const slow = {
      ...behaviour,
      finishedAtPoll: ({ chunk }: { chunk: number }) => (chunk === 1 ? Infinity : 1),
    };
    await withJob({ behaviour: slow }, async (job) => {
      await interrupt(job, stopAt('after-downloaded-before-merge', 5));
      for (const file of await partFiles(job)) await truncate(file, 30);
      job.service.behaviour = behaviour;
      await expectResumed(job);
    });
  });

  const damages: Readonly<Record<string, (file: string) => Promise<void>>> = {
    'is longer': (file) => appendFile(file, '4711,half a rec'),
    'is a byte shorter': async (file) => truncate(file, (await readFile(file)).length - 1),
    'has lost all but its header': (file) => truncate(file, 10),
    'is gone': (file) => rm(file),
  };

  it.each(Object.entries(damages))('writes right what a work file says that %s', async (_, damage) => {
    await withJob({ behaviour }, async (job) => {
      await interrupt(job, stopAt('after-merged-before-next', 3));
      const [work] = (await job.published()).filter((name) => name.endsWith('.partial'));
      await damage(path.join(path.dirname(job.outputPath), work!));
      await expectResumed(job);
    });
  });
});

describe('what may not change, and what begins anew', () => {
  it('refuses a source that has changed, with both ways out', async () => {
    await withJob({ behaviour }, async (job) => {
      await interrupt(job, stopAt('after-accepted-before-poll', 2));
      const folios = job.service.folios.length;
      await writeFile(job.sourcePath, sourceText(59));
      const error = await job.failure();
      expect(error).toBeInstanceOf(SourceError);
      expect(error).toMatchObject({ code: 'SOURCE_CHANGED', exitCode: 4 });
      expect((error as SourceError).hint).toMatch(/put the old file back.*--new/);
      expect(job.service.folios.length).toBe(folios);
      await writeFile(job.sourcePath, sourceText(60));
      await expectResumed(job);
    });
  });

  it.each([
    ['chunks.maxRecords', { chunks: { maxRecords: 20 } }],
    ['upload.keyColumn', { upload: { keyColumn: null } }],
    ['output.prefix', { output: { prefix: 'p_' } }],
  ])('refuses another %s while the run is open', async (key, changes) => {
    await withJob({ behaviour }, async (job) => {
      await interrupt(job, stopAt('after-accepted-before-poll', 2));
      const error = await job.failure(changes);
      expect(error).toBeInstanceOf(ConfigError);
      expect(error).toMatchObject({ code: 'CONFIG_FROZEN', exitCode: 2, facts: { keys: key } });
      expect((error as ConfigError).hint).toContain('--new');
    });
  });

  it('begins afresh where that is wanted, and the old run is never continued', async () => {
    await withJob({ behaviour }, async (job) => {
      await interrupt(job, stopAt('after-accepted-before-poll', 6));
      const uploads = job.service.count('upload');
      const fresh = await job.enrich({}, { fresh: true });
      expect(fresh).toMatchObject({ found: 'new', exitCode: 0 });
      expect(await job.output()).toBe(unbroken);
      expect(job.service.count('upload')).toBe(uploads + 6);
      expect(await job.enrich()).toMatchObject({ found: 'done', run: fresh.run });
    });
  });

  it('says that a finished run is done, and sends nothing', async () => {
    await withJob({ behaviour }, async (job) => {
      const first = await job.enrich();
      const sent = job.service.seen.length;
      expect(await job.enrich()).toEqual({ ...first, found: 'done' });
      expect(job.service.seen.length).toBe(sent);
    });
  });
});

describe('publish', () => {
  it('writes the same bytes again without the service', async () => {
    await withJob({ behaviour }, async (job) => {
      const { run } = await job.enrich();
      await rm(path.dirname(job.outputPath), { recursive: true });
      await job.service.close();
      const summary = await publish(job.config(), run);
      await expectSuccess(job, summary, all);
      expect(await job.output()).toBe(unbroken);
    });
  });

  it('says which part is damaged where nobody can be asked for it again', async () => {
    await withJob({ behaviour }, async (job) => {
      const { run } = await job.enrich();
      const folder = path.join(job.config().stateDir, 'runs', run);
      const part = (await readdir(folder)).sort().at(-1)!;
      await truncate(path.join(folder, part), 20);
      const published = publish(job.config(), run);
      await expect(published).rejects.toMatchObject({
        code: 'PART_DAMAGED',
        exitCode: 6,
        facts: { chunk: 6 },
      });
      await expectSuccess(job, await job.enrich(), all);
      expect(await job.output()).toBe(unbroken);
    });
  });
});
