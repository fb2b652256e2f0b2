/** `source.onChange: supersede`: open folios of the old run are collected, then a new run starts for the new source. */
import { readFile, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { openCheckpointReader, type Run } from '../../../pipelines/index.js';
import { expectEnriched, type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { behaviour, interrupt, stopAt } from '../../helpers/jobs/interrupted-job.js';
import { sourceText } from '../../helpers/jobs/sample-source.js';

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
    // Both runs are over: the old run makes no more requests.
    const asked = job.service.seen.length;
    expect(await job.enrich()).toMatchObject({ found: 'done', run: summary.run });
    expect(job.service.seen.length).toBe(asked);
  });
});

it('gives up nothing during an outage', async () => {
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

it('does not happen unless configured: exit 4, and both ways out are named', async () => {
  await withJob({ behaviour }, async (job) => {
    await interrupt(job, stopAt('after-accepted-before-poll', 3));
    const before = await readFile(job.sourcePath);
    await writeFile(job.sourcePath, sourceText(70));
    const error = await job.failure();
    expect(error).toMatchObject({ exitCode: 4, code: 'SOURCE_CHANGED' });
    expect((error as { hint: string }).hint).toMatch(/old file back.*supersede.*--new --yes/);
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
