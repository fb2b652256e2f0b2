/** `source.onChange: supersede`: the old run's open folios are collected, and a new run begins for the new source. */
import { readFile, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { openCheckpointReader, type Run } from '../../pipelines/index.js';
import { expectEnriched, type Job, withJob } from '../helpers/other-service-job.js';
import { behaviour, interrupt, stopAt } from '../helpers/other-service-resume.js';
import { sourceText } from '../helpers/other-service-source.js';

const supersede = { source: { onChange: 'supersede' } };

it('keeps what was bought of the old source and enriches the new one', async () => {
  await withJob({ behaviour, config: supersede }, async (job) => {
    await interrupt(job, stopAt('after-accepted-before-poll', 4));
    const bought = job.service.folios.length;
    await writeFile(job.sourcePath, sourceText(70));
    const summary = await job.enrich();
    expect(summary).toMatchObject({ found: 'new', exitCode: 0, counts: { read: 70 } });
    await expectEnriched(job);
    expect(await job.published()).not.toContainEqual(expect.stringMatching(/\.partial$/));
    const [fresh, old] = await runsOf(job);
    expect(fresh).toMatchObject({ id: summary.run, state: 'done' });
    expect(old).toMatchObject({ state: 'superseded', finishedAt: expect.any(Number) as number });
    expect(await downloaded(job, old!)).toBe(bought);
    // Both are done with: nothing of the old run is asked for again.
    const asked = job.service.seen.length;
    expect(await job.enrich()).toMatchObject({ found: 'done', run: summary.run });
    expect(job.service.seen.length).toBe(asked);
  });
});

it('gives nothing up while the service is out', async () => {
  await withJob({ behaviour, config: { ...supersede, retry: { giveUpAfter: '200ms' } } }, async (job) => {
    await interrupt(job, stopAt('after-accepted-before-poll', 3));
    await writeFile(job.sourcePath, sourceText(70));
    job.service.behaviour = { ...behaviour, trouble: () => ({ kind: 'answer', status: 503 }) };
    expect(await job.failure()).toMatchObject({ exitCode: 5, code: 'SERVICE_UNAVAILABLE' });
    expect((await runsOf(job)).map(({ state }) => state)).toEqual(['open']);
    job.service.behaviour = behaviour;
    expect(await job.enrich()).toMatchObject({ found: 'new', exitCode: 0 });
    expect((await runsOf(job)).map(({ state }) => state)).toEqual(['done', 'superseded']);
  });
});

it('is not done by itself: exit 4, and both ways out are told', async () => {
  await withJob({ behaviour }, async (job) => {
    await interrupt(job, stopAt('after-accepted-before-poll', 3));
    const before = await readFile(job.sourcePath);
    await writeFile(job.sourcePath, sourceText(70));
    const error = await job.failure();
    expect(error).toMatchObject({ exitCode: 4, code: 'SOURCE_CHANGED' });
    expect((error as { hint: string }).hint).toMatch(/old file back.*--new.*supersede/);
    await writeFile(job.sourcePath, before);
    expect(await job.enrich()).toMatchObject({ found: 'continued', exitCode: 0 });
  });
});

async function runsOf(job: Job): Promise<readonly Run[]> {
  return withReader(job, (reader) => reader.runs('hostile'));
}

async function downloaded(job: Job, run: Run): Promise<number> {
  return withReader(job, async (reader) => (await reader.tally(run.id)).chunks.downloaded);
}

type Reader = NonNullable<Awaited<ReturnType<typeof openCheckpointReader>>>;

async function withReader<T>(job: Job, use: (reader: Reader) => Promise<T>): Promise<T> {
  const reader = (await openCheckpointReader(job.config().stateDir))!;
  try {
    return await use(reader);
  } finally {
    await reader.close();
  }
}
