/** A folio is given up only after many polls over a long time, and every later run asks for it again. */
import { appendFile, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import {
  adopt,
  collect,
  type Logger,
  openCheckpointReader,
  prune,
  type RunSummary,
  retry,
  submit,
} from '../../../pipelines/index.js';
import type { SeenRequest, Trouble } from '../../fake-service/behaviour.js';
import { htmlPage } from '../../fake-service/troubles.js';
import {
  expectEnriched,
  expectSuccess,
  failingAmong,
  type Job,
  withJob,
} from '../../helpers/jobs/fake-service-job.js';
import { failingName, fineNames, withLocalJob } from '../../helpers/jobs/local-job.js';
import { throwAt } from '../../helpers/jobs/throw-at.js';

const all = failingAmong(60);
const unknown: Trouble = { kind: 'answer', status: 404, body: '{"message":"no such folio"}' };
const long = { poll: { lostAfter: '1h' } };

/** The first answers to an operation on a chunk are wrong. */
const first = (times: number, trouble: Trouble) => (request: SeenRequest) =>
  request.operation !== 'upload' && request.again <= times ? trouble : undefined;

const remember = (job: Job) => {
  for (const folio of job.service.folios) folio.forgotten = false;
};

/** Publishes a run without the second chunk, whose folio the service has forgotten. */
async function publishWithout(job: Job): Promise<RunSummary> {
  job.service.behaviour = {
    tracking: (reply, folio) => {
      if (folio.chunk === 2) job.service.forget(folio);
      return reply;
    },
  };
  const summary = await job.enrich();
  expect(summary).toMatchObject({ exitCode: 3, counts: { unprocessed: 10 } });
  const { id: folio } = job.service.folios.find(({ chunk }) => chunk === 2)!;
  expect(summary.lost).toEqual([{ chunk: 2, folio, records: 10, round: 0 }]);
  job.service.behaviour = {};
  return summary;
}

async function stateOf(job: Job, chunk: number) {
  const reader = (await openCheckpointReader(job.config().stateDir))!;
  try {
    const run = (await reader.latestRun('hostile'))!;
    const { state, cause } = (await reader.chunk(run.id, chunk))!;
    return { run: run.state, state, cause };
  } finally {
    await reader.close();
  }
}

function listen(): { logger: Logger; warnings: string[] } {
  const warnings: string[] = [];
  const silent = () => undefined;
  const warn = (_: unknown, text?: string) => void warnings.push(text ?? '');
  return { logger: { debug: silent, info: silent, warn, error: warn } as Logger, warnings };
}

describe('a folio that is unknown for a while', () => {
  it.each([
    ['to the service, even for many polls', unknown, long],
    ['because a proxy answers with its own page', htmlPage(404), { poll: { lostAfter: '1ms' } }],
    ['because a proxy answers 410', htmlPage(410), { poll: { lostAfter: '1ms' } }],
  ])('%s, is not lost', async (_, trouble, config) => {
    await withJob({ behaviour: { trouble: first(8, trouble) }, config }, async (job) => {
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job);
      expect(job.service.count('upload')).toBe(6);
    });
  });

  it('is an outage if a proxy keeps answering: the chunk stays open', async () => {
    const config = { retry: { giveUpAfter: '200ms' }, poll: { lostAfter: '1ms' } };
    const trouble = ({ operation, chunk }: SeenRequest) =>
      operation === 'track' && chunk === 2 ? htmlPage(404) : undefined;
    await withJob({ behaviour: { trouble }, config }, async (job) => {
      expect(await job.failure()).toMatchObject({ code: 'SERVICE_UNAVAILABLE', exitCode: 5 });
      expect(await stateOf(job, 2)).toMatchObject({ state: 'submitted' });
      job.service.behaviour = {};
      await expectSuccess(job, await job.enrich(), all);
    });
  });

  it('is not given up after one poll', async () => {
    await withJob(
      {
        behaviour: { finishedAtPoll: () => Number.POSITIVE_INFINITY },
        config: { ...long, concurrency: { folios: 9 } },
      },
      async (job) => {
        await submit(job.config());
        job.service.behaviour = { finishedAtPoll: () => 1 };
        const folio = job.service.folios.find(({ chunk }) => chunk === 3)!;
        job.service.forget(folio);
        const asking = collect(job.config(), { wait: false });
        await expect(asking).rejects.toMatchObject({
          code: 'FOLIO_NOT_FOUND',
          exitCode: 5,
          hint: expect.stringContaining('foliopipe collect'),
          facts: { chunk: 3, folio: folio.id },
        });
        expect(await stateOf(job, 3)).toMatchObject({ run: 'open', state: 'submitted' });
        remember(job);
        await expectSuccess(job, await collect(job.config(), { wait: false }), all);
      },
    );
  });

  it('at the first poll of a resume is polled again later', async () => {
    await withJob({ behaviour: { finishedAtPoll: () => 1 }, config: long }, async (job) => {
      await submit(job.config());
      const asked = job.service.count('track');
      job.service.behaviour = {
        finishedAtPoll: () => 1,
        trouble: ({ operation, nth }) => (operation === 'track' && nth <= asked + 10 ? unknown : undefined),
      };
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job);
    });
  });
});

describe('a folio that was lost', () => {
  const commands: Readonly<Record<string, (job: Job, run: string) => Promise<RunSummary>>> = {
    run: (job) => job.enrich(),
    collect: (job) => collect(job.config()),
    'collect --no-wait': (job) => collect(job.config(), { wait: false }),
  };

  it.each(Object.entries(commands))('and is known again is collected by %s', async (_, again) => {
    await withJob({}, async (job) => {
      const { run } = await publishWithout(job);
      const asked = job.service.seen.length;
      expect(await again(job, run)).toMatchObject({ run, found: 'done', exitCode: 3 });
      expect(job.service.seen.slice(asked).map(({ operation, chunk }) => [operation, chunk])).toEqual([
        ['track', 2],
      ]);

      remember(job);
      const summary = await again(job, run);
      expect(summary).toMatchObject({ run, found: 'continued' });
      await expectSuccess(job, summary, all);
      await expectEnriched(job);
      expect(job.service.count('upload')).toBe(6);
      const before = job.service.seen.length;
      expect(await again(job, run)).toMatchObject({ found: 'done', exitCode: 0 });
      expect(job.service.seen.length).toBe(before);
    });
  });

  it('and is known again is collected by retry, which sends failed records, too', async () => {
    await withJob({}, async (job) => {
      const { run } = await publishWithout(job);
      remember(job);
      const summary = await retry(job.config(), run);
      await expectSuccess(job, summary, all);
      // The failed records were sent once more, including those of the lost chunk.
      const again = job.service.folios.filter(({ chunk }) => chunk > 6).flatMap(({ records }) => records);
      expect(again).toHaveLength(all);
    });
  });

  it('and is known again after a kill is collected by --new too, which begins no other run', async () => {
    await withJob({}, async (job) => {
      const forgotten = ({ chunk, operation }: SeenRequest) =>
        operation === 'track' && chunk === 2 ? unknown : undefined;
      job.service.behaviour = { trouble: forgotten };
      const killed = {
        at: throwAt('after-rename-before-manifest'),
      };
      await expect(job.enrich({}, killed)).rejects.toThrow('killed');
      job.service.behaviour = {};
      const summary = await job.enrich({}, { fresh: true, yes: true });
      expect(summary).toMatchObject({ found: 'continued' });
      await expectSuccess(job, summary, all);
      expect(job.service.count('upload')).toBe(6);
    });
  });

  it('is asked for first when a run goes on', async () => {
    await withJob({}, async (job) => {
      const trouble = ({ operation, chunk }: SeenRequest) => {
        if (operation === 'upload' && chunk === 6) return htmlPage(503);
        return operation === 'track' && chunk === 2 ? unknown : undefined;
      };
      job.service.behaviour = { trouble };
      expect(await job.failure({ retry: { giveUpAfter: '400ms' } })).toMatchObject({ exitCode: 5 });
      expect(await stateOf(job, 2)).toEqual({ run: 'open', state: 'unprocessed', cause: 'FOLIO_LOST' });
      const asked = job.service.seen.length;
      job.service.behaviour = {};
      await expectSuccess(job, await job.enrich(), all);
      expect(job.service.seen[asked]).toMatchObject({ operation: 'track', chunk: 2 });
    });
  });

  it('stays lost if one of its parts cannot be downloaded: the run stays done', async () => {
    await withJob({}, async (job) => {
      const trouble = ({ operation, chunk, part }: SeenRequest) =>
        operation === 'download' && chunk === 2 && part?.startsWith('FAILED') ? unknown : undefined;
      job.service.behaviour = { trouble };
      expect(await job.enrich()).toMatchObject({ exitCode: 3 });
      expect(await job.enrich()).toMatchObject({ found: 'done', exitCode: 3 });
      job.service.behaviour = {};
      await expectSuccess(job, await job.enrich(), all);
    });
  });

  it('in a round is collected, too, and its records are not sent again', async () => {
    const names = [...fineNames(28), failingName(1), failingName(2)];
    const config = { failures: { tolerate: '100%', rounds: 1 } };
    await withLocalJob({ rules: [{ folio: 4, fault: { forget: true } }], names, config }, async (job) => {
      expect(await job.enrich()).toMatchObject({ exitCode: 0, counts: { failed: 2 } });
      const { chunks } = await job.kept();
      expect(chunks.at(-1)).toMatchObject({ round: 1, state: 'unprocessed', cause: 'FOLIO_LOST' });
      await job.restartService([]);
      const summary = await job.enrich();
      expect(summary).toMatchObject({ found: 'continued', exitCode: 0, counts: { failed: 2 } });
      const { run, chunks: later } = await job.kept();
      expect(run.round).toBe(1);
      expect(later.at(-1)).toMatchObject({ round: 1, state: 'downloaded' });
      expect(await job.served()).toHaveLength(4);
    });
  });

  it('leaves a done run done if the service cannot be reached, and the summary says so', async () => {
    await withJob({}, async (job) => {
      const { run } = await publishWithout(job);
      await job.service.close();
      const { logger, warnings } = listen();
      const summary = await job.enrich({ retry: { giveUpAfter: '50ms' } }, { logger });
      expect(summary).toMatchObject({ run, found: 'done', exitCode: 3 });
      expect(warnings.at(-1)).toMatch(/lost folios of run \S+ could not be asked for again/);
    });
  });

  it('is not asked for if the run cannot go on', async () => {
    await withJob({}, async (job) => {
      await publishWithout(job);
      remember(job);
      const asked = job.service.seen.length;
      const isDone = { found: 'done', exitCode: 3 };
      // With other frozen values, another source, or an edited output.
      expect(await collect(job.config({ chunks: { maxRecords: 9 } }))).toMatchObject(isDone);
      const output = await job.output();
      await appendFile(job.outputPath, 'edited\n');
      await expect(collect(job.config())).rejects.toMatchObject({ code: 'OUTPUT_CHANGED' });
      await writeFile(job.outputPath, output);
      await appendFile(job.sourcePath, 'New,1 Main St,MT,x\n');
      expect(await collect(job.config())).toMatchObject(isDone);
      expect(job.service.seen.length).toBe(asked);
    });
  });

  it('is not asked for once the run is pruned', async () => {
    await withJob({}, async (job) => {
      const { run } = await publishWithout(job);
      await prune(job.config(), { olderThan: -1 });
      const asked = job.service.seen.length;
      expect(await collect(job.config())).toMatchObject({ run, found: 'done' });
      expect(job.service.seen.length).toBe(asked);
    });
  });

  it("can be adopted, its own folio or another one of the file, but no other chunk's", async () => {
    await withJob({}, async (job) => {
      const { run } = await publishWithout(job);
      const folioOf = (chunk: number) => job.service.folios.find((folio) => folio.chunk === chunk)!;
      const other = adopt(job.config(), { run, chunk: 2, folio: folioOf(1).id });
      await expect(other).rejects.toMatchObject({ code: 'ADOPT_FOLIO_BOUND' });
      const own = { run, chunk: 2, folio: folioOf(2).id };
      await expect(adopt(job.config(long), own)).rejects.toMatchObject({ code: 'ADOPT_FOLIO_UNKNOWN' });
      remember(job);
      expect(await adopt(job.config(), own)).toMatchObject({ chunk: 2, records: 10 });
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job);
    });
  });
});
