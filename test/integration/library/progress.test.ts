/** What a job tells a program while it works: events, log lines, and how it ends when it is stopped. */
import { expect, it } from 'vitest';
import {
  collect,
  enrich,
  InterruptedError,
  type JobEvent,
  type OnProgress,
  plan,
  publish,
  submit,
} from '../../../pipelines/index.js';
import type { TroubleMaker } from '../../fake-service/behaviour.js';
import { type Job, withJob } from '../../helpers/jobs/fake-service-job.js';

const typesOf = (events: readonly JobEvent[]) => [...new Set(events.map(({ type }) => type))];

/** Collects the lines of a logger as `level message`, without what differs from run to run. */
function listen() {
  const lines: string[] = [];
  const write = (level: string) => (_: object, text: string) =>
    void lines.push(
      `${level} ${text.replaceAll(/2\d{7}T\d{6}-\w+/g, 'RUN').replaceAll(/http:\S+|\/\S+\.csv/g, 'PLACE')}`,
    );
  const logger = { debug: () => undefined, info: write('info'), warn: write('warn'), error: write('error') };
  return { lines, logger };
}

async function told(job: Job, changes = {}, onProgress?: OnProgress) {
  const { lines, logger } = listen();
  const events: JobEvent[] = [];
  const running = enrich(job.config(changes), { logger, ...(onProgress && { onProgress }) });
  for await (const event of running) events.push(event);
  return { lines, events, summary: await running };
}

it('a job gives its events to a loop, a callback and a logger, and then its summary', async () => {
  await withJob({}, async (job) => {
    const called: JobEvent[] = [];
    const { lines, events, summary } = await told(job, {}, (event) => void called.push(event));
    expect(typesOf(events)).toEqual(['scan', 'run', 'progress', 'published']);
    expect(typesOf(called)).toEqual(['scan', 'run', 'progress', 'published']);
    expect(called.find(({ type }) => type === 'run')).toEqual({
      type: 'run',
      run: summary.run,
      pipeline: 'hostile',
      found: 'new',
    });
    const { output, run } = summary;
    expect(called).toContainEqual({
      type: 'published',
      run,
      pipeline: 'hostile',
      publication: 1,
      path: output!.path,
      records: 60,
      bytes: output!.bytes,
    });
    const snapshots = called.filter((event) => event.type === 'progress');
    expect(snapshots.at(-1)).toMatchObject({
      run,
      state: 'done',
      records: 60,
      toSend: 60,
      answered: 60,
      chunks: 6,
      byState: { downloaded: 6 },
      merged: { chunks: 6, records: 60 },
      folios: { open: 0, oldest: [] },
      waits: [],
    });
    expect(events.at(-1)).toEqual(snapshots.at(-1));
    expect(lines).toEqual([
      expect.stringMatching(/^info the source is checked: 60 records in 1 file, \S+ KB, \d columns$/),
      'info run RUN of pipeline hostile begins: 60 records to send to PLACE',
      expect.stringMatching(/^info publication 1 of run RUN is in place: PLACE, 60 rows, \S+ KB$/),
      expect.stringMatching(/^info run RUN is done, exit code 0: \d+ successful, \d+ failed, 0 unp.*$/),
    ]);
  });
});

it('its halves, plan and publish tell theirs', async () => {
  await withJob({ config: { chunks: { maxRecords: 10, canary: 10 } } }, async (job) => {
    const config = job.config();
    const collected = async (running: AsyncIterable<JobEvent>) => {
      const events: JobEvent[] = [];
      for await (const event of running) events.push(event);
      return typesOf(events);
    };
    expect(await collected(plan(config))).toEqual(['scan']);
    const { lines, logger } = listen();
    expect(await collected(submit(config, { logger }))).toEqual(['scan', 'run', 'progress']);
    expect(lines).toContainEqual(
      expect.stringMatching(/^info the canary has passed: \d of 10 records failed$/),
    );
    expect(await collected(collect(config))).toContain('published');
    const again = publish(config, 'last');
    expect(await collected(again)).toEqual(['run', 'progress', 'published']);
    expect(await again).toMatchObject({ publication: 2 });
  });
});

it('percentages and throttles of this process are in its snapshots', async () => {
  let calls = 0;
  const trouble: TroubleMaker = ({ operation }) =>
    operation === 'track' && ++calls === 10
      ? { kind: 'answer', status: 429, body: '{}', headers: { 'retry-after': '1' } }
      : undefined;
  await withJob({ behaviour: { trouble, finishedAtPoll: () => 4 } }, async (job) => {
    const events: JobEvent[] = [];
    await enrich(job.config(), { onProgress: (event) => void events.push(event) });
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'waiting', on: 'throttle', why: expect.stringContaining('429') }),
    );
    const snapshots = events.filter((event) => event.type === 'progress');
    const shares = snapshots.flatMap(({ folios }) => folios.oldest.map(({ percentage }) => percentage));
    expect(shares).toContainEqual(expect.any(Number));
    expect(snapshots.flatMap(({ waits }) => waits)).toContainEqual(
      expect.objectContaining({ on: 'throttle' }),
    );
    for (const { rate } of snapshots) expect(rate ?? 0).toBeGreaterThanOrEqual(0);
  });
});

it('a time-out of the caller stops a run that waits, and the same call goes on', async () => {
  const finishedAtPoll = () => Number.POSITIVE_INFINITY;
  await withJob({ behaviour: { finishedAtPoll } }, async (job) => {
    const events: JobEvent[] = [];
    const running = enrich(job.config({ poll: { first: '1m', max: '1m' } }), {
      signal: AbortSignal.timeout(700),
    });
    const loop = (async () => {
      for await (const event of running) events.push(event);
    })();
    const error = await loop.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InterruptedError);
    expect(error).toMatchObject({ code: 'INTERRUPTED', exitCode: 143, cause: { name: 'TimeoutError' } });
    expect(events.at(-1)).toMatchObject({ type: 'progress', state: 'open' });
    job.service.behaviour = {};
    expect(await job.enrich()).toMatchObject({ exitCode: 0, found: 'continued' });
    expect(job.service.count('upload')).toBe(6);
  });
});
