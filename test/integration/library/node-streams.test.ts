/** The examples of docs/streams.md: stages as functions and as Node streams, and how both end. */
import { readFile } from 'node:fs/promises';
import { PassThrough, Writable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import {
  type ChunkRow,
  checkAllDownloaded,
  chunkRecords,
  drain,
  InterruptedError,
  type MergedStretch,
  OutageError,
  openRun,
  RefusedError,
  runStages,
  submitChunks,
  TroubleError,
  trackFolios,
  withRun,
} from '../../../pipelines/index.js';
import type { Behaviour, TroubleMaker } from '../../fake-service/behaviour.js';
import { htmlPage } from '../../fake-service/troubles.js';
import { loadElsewhere } from '../../helpers/examples/load-elsewhere.js';
import { loadThroughStreams } from '../../helpers/examples/load-through-streams.js';
import { type Changes, expectPaidOnce, type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { predictedEnrichment, sourceText } from '../../helpers/jobs/sample-source.js';

const source = parse(sourceText(60), { columns: true }) as Record<string, string>[];
const expectedRows = source.map((row) => {
  const { status, code, error, added } = predictedEnrichment(row);
  const { naics_code = '', naics_title = '', confidence = '' } = added;
  return [...Object.values(row), status, code, error, naics_code, naics_title, confidence];
});
const lastFirst: Behaviour = { finishedAtPoll: ({ chunk }) => 7 - chunk };
/** Polls an hour apart: nothing that waits for a poll ends by itself during a test. */
const patient: Changes = { poll: { first: '1h', max: '2h', timeout: '6h' } };
const neverFinished = () => Number.POSITIVE_INFINITY;

/** Refuses the upload of one chunk, like a used-up quota. */
function refusing(refused: number): TroubleMaker {
  return ({ operation, chunk }) =>
    operation === 'upload' && chunk === refused ? { kind: 'answer', status: 402 } : undefined;
}

/** A stream that keeps the bytes; a `broken` one fails at the first write. */
function createTarget(broken = false) {
  const pieces: Buffer[] = [];
  const target = new Writable({
    write: (piece: Buffer, _encoding, done) => {
      pieces.push(piece);
      done(broken ? new Error('the target is full') : null);
    },
  });
  return { target, rows: () => parse(gunzipSync(Buffer.concat(pieces))) as string[][] };
}

const ignore = () => undefined;

/** Goes on with the functions: the state that a broken chain leaves is complete. */
async function expectGoesOn(job: Job): Promise<void> {
  job.service.behaviour = {};
  const loaded: MergedStretch[] = [];
  await loadElsewhere(job.config(), async (chunk) => void loaded.push(chunk));
  expectChunks(loaded);
  expectPaidOnce(job);
}

/** Of the chunks of the job's source. */
const firstRecords = [1, 11, 21, 31, 41, 51];

function expectChunks(chunks: readonly MergedStretch[]): void {
  expect(chunks.map(({ firstRecord }) => firstRecord)).toEqual(firstRecords);
  expect(chunks[0]!.columns).toEqual(['naics_code', 'naics_title', 'confidence']);
  expect(parse(Buffer.concat(chunks.map(({ bytes }) => bytes)))).toEqual(expectedRows);
}

describe('stages as functions, with a sink of one’s own', () => {
  it('load the rows elsewhere, and again when run again', async () => {
    await withJob({ behaviour: lastFirst }, async (job) => {
      const loaded: MergedStretch[] = [];
      await loadElsewhere(job.config(), async (chunk) => void loaded.push(chunk));
      expectChunks(loaded);
      expect(await job.published()).toEqual([]);
      expect(job.service.mostOpen).toBeLessThanOrEqual(4);
      await expectGoesOn(job);
    });
  });

  it('give the rows of a done run again, and pay nothing', async () => {
    await withJob({}, async (job) => {
      await job.enrich();
      await expectGoesOn(job);
      expect(await job.enrich()).toMatchObject({ found: 'done', publication: 1 });
      expectPaidOnce(job);
    });
  });

  it('fail with the error of the stage that failed, and can go on later', async () => {
    await withJob({ behaviour: { trouble: refusing(4) } }, async (job) => {
      const loading = loadElsewhere(job.config(), async () => undefined);
      await expect(loading).rejects.toBeInstanceOf(RefusedError);
      await expectGoesOn(job);
    });
  });

  it('fail with the error of the sink', async () => {
    await withJob({}, async (job) => {
      const load = async ({ firstRecord }: MergedStretch) => {
        if (firstRecord === firstRecords[1]) throw new Error('the warehouse is full');
      };
      await expect(loadElsewhere(job.config(), load)).rejects.toThrow('the warehouse is full');
      await expectGoesOn(job);
    });
  });

  it('fail with an AbortError of the program, such as that of its own fetch', async () => {
    await withJob({ behaviour: lastFirst }, async (job) => {
      const own = new DOMException('the lookup has timed out', 'AbortError');
      const looking = async function* (chunks: AsyncIterable<ChunkRow>) {
        for await (const chunk of chunks) {
          if (chunk.number === 2) throw own;
          yield chunk;
        }
      };
      const ended = withRun(job.config(), {}, (run) =>
        runStages(run.controller, chunkRecords(run), submitChunks(run), looking, trackFolios(run), drain),
      );
      await expect(ended).rejects.toBe(own);
      await expectGoesOn(job);
    });
  });

  it('end by the signal while they wait', async () => {
    await withJob({ behaviour: { finishedAtPoll: neverFinished } }, async (job) => {
      const controller = new AbortController();
      const { signal } = controller;
      const loading = loadElsewhere(job.config(patient), async () => undefined, { signal });
      const ended = loading.catch((error: unknown) => error);
      await expect.poll(() => job.service.count('track'), { interval: 5 }).toBe(1);
      controller.abort(new InterruptedError());
      expect(await ended).toBeInstanceOf(InterruptedError);
    });
  });
});

describe('a chain of a run that the program closes', () => {
  it('ends while it waits for hours, and cannot begin after that', async () => {
    await withJob({ behaviour: { finishedAtPoll: neverFinished } }, async (job) => {
      const run = await openRun(job.config(patient));
      const closed = { code: 'RUN_CLOSED', facts: { run: run.id } };
      const begin = () =>
        runStages(run.controller, chunkRecords(run), submitChunks(run), trackFolios(run), drain);
      const ended = begin().catch((error: unknown) => error);
      const open = () => job.service.count('track') > 0 && run.uploads.inFlight.size === 0;
      await expect.poll(open, { interval: 5 }).toBe(true);
      await run.close();
      expect(await ended).toMatchObject(closed);
      await expect(begin()).rejects.toMatchObject(closed);
      await expectGoesOn(job);
    });
  });

  it('is not complete after a last stage that returned early, which is what the check says', async () => {
    await withJob({ behaviour: lastFirst }, async (job) => {
      await using run = await openRun(job.config());
      const first = async (chunks: AsyncIterable<ChunkRow>) => {
        for await (const chunk of chunks) return chunk.number;
        return 0;
      };
      const ended = runStages(run.controller, chunkRecords(run), submitChunks(run), first);
      expect(await ended).toBeGreaterThan(0);
      await expect(checkAllDownloaded(run)).rejects.toMatchObject({ code: 'STAGE_ENDED' });
    });
  });
});

describe('stages as Node streams', () => {
  it('form a pipeline with other streams in between', async () => {
    await withJob({ behaviour: lastFirst }, async (job) => {
      const finished: number[] = [];
      const { target, rows } = createTarget();
      await loadThroughStreams(job.config(), ({ number }) => void finished.push(number), target);
      expect(rows()).toEqual(expectedRows);
      expect(finished.sort()).toEqual([1, 2, 3, 4, 5, 6]);
      expect(job.service.mostOpen).toBeLessThanOrEqual(4);
      expectPaidOnce(job);
    });
  });

  it('end by the signal, with its reason, while they wait for hours', async () => {
    await withJob({ behaviour: { finishedAtPoll: neverFinished } }, async (job) => {
      const controller = new AbortController();
      const { target } = createTarget();
      const { signal } = controller;
      const loading = loadThroughStreams(job.config(patient), ignore, target, { signal });
      const ended = loading.catch((error: unknown) => error);
      await expect.poll(() => job.service.count('track'), { interval: 5 }).toBe(1);
      const reason = new InterruptedError('SIGTERM');
      controller.abort(reason);
      expect(await ended).toBe(reason);
      expect(target.destroyed).toBe(true);
      await expectGoesOn(job);
    });
  });

  it('end with the error of the last stream, even while folios are polled', async () => {
    const behaviour: Behaviour = { finishedAtPoll: ({ chunk }) => (chunk > 3 ? Infinity : 1) };
    await withJob({ behaviour }, async (job) => {
      const { target } = createTarget(true);
      const loading = loadThroughStreams(job.config(patient), ignore, target);
      await expect(loading).rejects.toThrow('the target is full');
      await expectGoesOn(job);
    });
  });

  it('end with the error of a stream in between', async () => {
    const behaviour: Behaviour = { finishedAtPoll: ({ chunk }) => (chunk > 1 ? Infinity : 1) };
    await withJob({ behaviour }, async (job) => {
      const { target } = createTarget();
      const stumble = () => {
        throw new Error('I do not like this chunk');
      };
      await expect(loadThroughStreams(job.config(patient), stumble, target)).rejects.toThrow(
        'I do not like this chunk',
      );
      await expectGoesOn(job);
    });
  });

  it('end with the error of the stage that failed, even while the others wait', async () => {
    const behaviour: Behaviour = { finishedAtPoll: neverFinished, trouble: refusing(4) };
    await withJob({ behaviour }, async (job) => {
      const { target } = createTarget();
      await expect(loadThroughStreams(job.config(patient), ignore, target)).rejects.toBeInstanceOf(
        RefusedError,
      );
      await expectGoesOn(job);
    });
  });

  it('wait for a slow target and lose nothing', async () => {
    await withJob({}, async (job) => {
      const { target, rows } = createTarget();
      const slow = new PassThrough({ highWaterMark: 1 });
      const drained = (async () => {
        for await (const piece of slow) {
          await new Promise((resolve) => setImmediate(resolve));
          target.write(piece);
        }
      })();
      await loadThroughStreams(job.config(), ignore, slow);
      await drained;
      expect(rows()).toEqual(expectedRows);
    });
  });
});

describe('a chain that cannot get everything', () => {
  it.each([
    [
      'after an outage',
      { trouble: (r) => (r.operation === 'download' && r.chunk === 3 ? htmlPage(500) : undefined) },
      { retry: { giveUpAfter: '50ms' } },
      OutageError,
    ],
    [
      'after poll.timeout',
      { finishedAtPoll: ({ chunk }) => (chunk === 3 ? Infinity : 1) },
      { poll: { timeout: '100ms' } },
      TroubleError,
    ],
  ] satisfies [string, Behaviour, Changes, typeof TroubleError][])(
    'fails %s: an incomplete end never looks complete',
    async (_, behaviour, changes, error) => {
      await withJob({ behaviour }, async (job) => {
        const loaded: number[] = [];
        const load = async ({ firstRecord }: MergedStretch) => void loaded.push(firstRecord);
        await expect(loadElsewhere(job.config(changes), load)).rejects.toBeInstanceOf(error);
        expect(loaded).toEqual(firstRecords.slice(0, 2));
        const { target } = createTarget();
        await expect(loadThroughStreams(job.config(changes), ignore, target)).rejects.toBeInstanceOf(error);
        await expectGoesOn(job);
      });
    },
  );
});

it('docs/streams.md shows these examples word for word', async () => {
  const docs = await readFile(new URL('../../../docs/streams.md', import.meta.url), 'utf8');
  const shown = [...docs.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code);
  const examples = await Promise.all(
    ['load-elsewhere', 'load-through-streams'].map(async (name) => {
      const text = await readFile(new URL(`../../helpers/examples/${name}.ts`, import.meta.url), 'utf8');
      return text.slice(text.indexOf('\n') + 1).replace("'../../../pipelines/index.js'", "'foliopipe'");
    }),
  );
  expect(shown).toEqual(examples);
});
