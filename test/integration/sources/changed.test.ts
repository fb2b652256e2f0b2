/** `source.onChange: supersede`: open folios of the old run are collected, then a new run starts for the new source. */
import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
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

/** The message after the source was changed, while three chunks are open at the service. */
async function saidOf(change: (text: string) => string): Promise<string> {
  let said = '';
  // A chunk that is downloaded has no file any more, which tells the record.
  const working = { ...behaviour, finishedAtPoll: () => Number.POSITIVE_INFINITY };
  await withJob({ behaviour: working }, async (job) => {
    await interrupt(job, stopAt('after-accepted-before-poll', 3));
    const text = await readFile(job.sourcePath, 'utf8');
    await writeFile(job.sourcePath, change(text));
    said = ((await job.failure()) as Error).message.replaceAll(job.folder, '');
  });
  return said;
}

describe('the message names the file, its times, and', () => {
  it('the first record that differs, as it was sent and as it is', async () => {
    const message = await saidOf((text) => text.replace('Plain Ltd 20', 'Plain Inc 20'));
    expect(message).toMatch(
      /^run \S+ is unfinished, and its source has other content now \(60 records then and now\)\n {2}"\/source\.csv": \S+ KB, written \S+Z then; \S+ KB, written \S+Z now\n/,
    );
    expect(message).toMatch(
      /\n {2}the first record that differs is 20: "20,Plain Ltd 20,.*" was sent, and now "20,Plain Inc 20,.*" would be \(line \d+\)$/,
    );
  });

  it('a record that is gone', async () => {
    const message = await saidOf((text) => `${text.split('\n').slice(0, 6).join('\n')}\n`);
    expect(message).toMatch(
      /60 records then, 5 now\n.*the first record that differs is 6: .* was sent, and now there is none$/s,
    );
  });

  it('that what was sent is unchanged', async () => {
    const message = await saidOf((text) => `${text}New,1 New St,MT,new\n`);
    expect(message).toMatch(
      /60 records then, 61 now\n.*\n {2}records 1 to \d+ would be sent as they were: the difference is after them, or in columns that are not sent$/,
    );
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
