import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { FolioReport, PredictionApi } from '../../../src/api/prediction-api.js';
import { TroubleError } from '../../../src/errors.js';
import { chunkRecords } from '../../../src/stages/chunk/chunk-records.js';
import { submitChunks } from '../../../src/stages/submit/submit-chunks.js';
import { trackFolios } from '../../../src/stages/track/track-folios.js';
import { createPermits } from '../../../src/streams/permits.js';
import { createFakeApi, report } from '../../fake-service/fake-api.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, type StageRun } from '../../helpers/stages/stage-run.js';
import { collect } from '../../helpers/streams/collect.js';
import { turns } from '../../helpers/streams/gates.js';

const folder = useFolder();

const endless = { poll: { first: '1s', max: '1m', timeout: '9000d' } };

/** A run with three folios; `said` gives what a folio's nth poll says, 2 records each. */
async function open(
  said: (folio: string, nth: number, signal: AbortSignal) => FolioReport | Promise<FolioReport>,
  config: Record<string, unknown> = {},
): Promise<StageRun> {
  const service = createFakeApi();
  const polls = new Map<string, number>();
  const track: PredictionApi['track'] = async (folio, signal) => {
    const nth = (polls.get(folio) ?? 0) + 1;
    polls.set(folio, nth);
    service.asked.push(`track ${folio}`);
    return said(folio, nth, signal);
  };
  return createStageRun(await folder(), {
    config: {
      concurrency: { uploads: 1, folios: 3 },
      poll: { first: '1s', max: '1m', timeout: '1h' },
      ...config,
    },
    api: { ...service, track },
  });
}

const trackAll = (run: StageRun, until?: AbortSignal) =>
  collect(trackFolios(run, until)(submitChunks(run)(chunkRecords(run)())));
const pollsOf = (run: StageRun, folio: string) =>
  run.api.asked.filter((line) => line === `track ${folio}`).length;

it('folios leave in the order in which they finish, with counts and parts committed', async () => {
  const order = ['F2', 'F3', 'F1'];
  const run: StageRun = await open((folio) => {
    if (run.api.folios.size < 3 || folio !== order[0]) return report('PROCESSING');
    order.shift();
    return report('FINISHED', 2);
  }, endless);
  const finished = await trackAll(run);
  expect(finished.map(({ number, state }) => [number, state])).toEqual([
    [2, 'finished'],
    [3, 'finished'],
    [1, 'finished'],
  ]);
  expect(finished[0]!.counts).toEqual({ successful: 2, failed: 0 });
  expect(await run.checkpoint.listedParts(run.id, 2)).toEqual([{ fileStatus: 'SUCCESSFUL', part: 0 }]);
});

it('a permit is given back when FINISHED is committed', async () => {
  const run = await open((_, nth) => (nth < 2 ? report('PROCESSING') : report('FINISHED', 2)), {
    concurrency: { uploads: 1, folios: 1 },
  });
  expect(await trackAll(run)).toHaveLength(3);
  expect(run.api.asked.filter((line) => line.startsWith('upload'))).toHaveLength(3);
});

describe('a folio that is not complete', () => {
  it('is polled on: finished without its parts, without counts, or with a status that nobody knows', async () => {
    const says = [
      report('QUEUED'),
      report('FINISHED', 2, { counts: null }),
      report('FINISHED', 2, { successfulParts: [], listedRecords: 0 }),
      report('FINISHED', 2, { listedRecords: 1 }),
      report('FINISHED', 2),
    ];
    const run = await open((_, nth) => says[nth - 1]!);
    expect(await trackAll(run)).toHaveLength(3);
    expect(pollsOf(run, 'F1')).toBe(5);
    expect(run.log.filter((line) => line.startsWith('warn') && line.includes('QUEUED'))).toHaveLength(3);
  });

  it('after poll.timeout is left for the next run, and the others go on', async () => {
    const run = await open((folio) => (folio === 'F2' ? report('PROCESSING') : report('FINISHED', 2)));
    const began = run.clock.now();
    const finished = await trackAll(run);
    expect(finished.map(({ number }) => number)).toEqual([1, 3]);
    expect(await run.checkpoint.chunk(run.id, 2)).toMatchObject({ state: 'submitted', folio: 'F2' });
    expect(run.clock.now() - began).toBe(60 * 60 * 1000);
    expect(run.log.some((line) => line.startsWith('warn') && line.includes('F2'))).toBe(true);
  });

  it('that is FINISHED and lists too little is told with what it lacks after poll.timeout', async () => {
    const says = [
      report('FINISHED', 2, { listedRecords: 1 }),
      report('FINISHED', 2, { listedRecords: null, successfulParts: [] }),
      report('FINISHED'),
    ];
    const run = await open((folio) => says[Number(folio.slice(1)) - 1]!);
    expect(await trackAll(run)).toEqual([]);
    expect(run.log.filter((line) => line.startsWith('warn')).sort()).toEqual([
      expect.stringContaining(
        'F1 is still FINISHED with 1 of 2 successful records in the parts that it lists after poll.timeout',
      ),
      expect.stringContaining('F2 is still FINISHED with 0 of 2 successful records in the parts'),
      expect.stringContaining('F3 is still FINISHED without the counts of its records after poll.timeout'),
    ]);
  });

  it('is polled once more if the machine slept past poll.timeout while a reply was on its way', async () => {
    const run: StageRun = await open(async (_, nth, signal) => {
      if (nth === 2) await run.clock.sleep(3 * 60 * 60 * 1000, signal);
      return nth < 3 ? report('PROCESSING') : report('FINISHED', 2);
    });
    expect(await trackAll(run)).toHaveLength(3);
    expect(pollsOf(run, 'F1')).toBe(3);
  });

  it('keeps its permit after poll.timeout: when all are kept, nothing more is sent', async () => {
    const run = await open((folio) => (folio === 'F1' ? report('PROCESSING') : report('FINISHED', 2)), {
      concurrency: { uploads: 1, folios: 1 },
    });
    expect(await trackAll(run)).toEqual([]);
    expect(run.uploads.stopped).toBe(true);
    expect(await run.checkpoint.tally(run.id)).toMatchObject({ uploads: { accepted: 1 } });
  });
});

it('a folio that the service has forgotten is given up, and the others go on', async () => {
  const service = createFakeApi();
  const run = await open((folio, _, signal) =>
    folio === 'F2' ? service.track('nobody knows', signal) : report('FINISHED', 2),
  );
  const passed = await trackAll(run);
  const states = passed.map(({ number, state, cause }) => [number, state, cause]).sort();
  expect(states).toEqual([
    [1, 'finished', null],
    [2, 'unprocessed', 'FOLIO_LOST'],
    [3, 'finished', null],
  ]);
  await Promise.all(['7', '8', '9'].map((holder) => run.folioPermits.acquire(holder, run.signal)));
});

describe('the pace', () => {
  const tenMinutes = 600_000;
  const one = { poll: { first: '1s', max: '1h', timeout: '9h' }, concurrency: { uploads: 1, folios: 1 } };

  /** A run whose folios take ten minutes each, and how old each folio was at each of its polls. */
  async function openTimed() {
    const uploadedAt = new Map<string, number>();
    const ages = new Map<string, number[]>();
    const run: StageRun = await open((folio) => {
      const age = run.clock.now() - uploadedAt.get(folio)!;
      ages.set(folio, [...(ages.get(folio) ?? []), age]);
      return age < tenMinutes ? report('PROCESSING') : report('FINISHED', 2);
    }, one);
    const upload: PredictionApi['upload'] = async (request, signal) => {
      const receipt = await run.api.upload(request, signal);
      uploadedAt.set(receipt.folio, run.clock.now());
      return receipt;
    };
    return { run: { ...run, api: { ...run.api, upload } }, ages };
  }

  it('is learned from the folios before: the next is first asked when half of that is over', async () => {
    const { run, ages } = await openTimed();
    expect(await trackAll(run)).toHaveLength(3);
    const [first, second] = [ages.get('F1')!, ages.get('F2')!];
    expect(first[0]).toBe(0);
    expect(second[0]).toBe(Math.ceil((first.at(-1)! * 0.97) / 2));
    expect(second.length).toBeLessThan(first.length / 5);
  });

  it('is learned from when polls were sent, not from how long they waited for the rate limit before', async () => {
    const { run, ages } = await openTimed();
    const track: PredictionApi['track'] = async (folio, signal, until, begins) => {
      if (folio === 'F1') await run.clock.sleep(3 * 60_000, signal);
      begins?.();
      return run.api.track(folio, signal, until);
    };
    expect(await trackAll({ ...run, api: { ...run.api, track } })).toHaveLength(3);
    expect(ages.get('F2')![0]).toBe(Math.ceil((ages.get('F1')!.at(-1)! * 0.97) / 2));
  });

  it('is not learned from a folio that may have been finished for as long as the service was down', async () => {
    const { run, ages } = await openTimed();
    const track: PredictionApi['track'] = async (folio, signal, until, begins) => {
      begins?.();
      if (folio === 'F1') {
        await run.clock.sleep(60 * 60_000, signal);
        begins?.();
      }
      return run.api.track(folio, signal, until);
    };
    expect(await trackAll({ ...run, api: { ...run.api, track } })).toHaveLength(3);
    expect(ages.get('F1')).toHaveLength(1);
    expect(ages.get('F2')![0]).toBe(250);
  });

  it('is not learned from a folio that may have been finished for hours', async () => {
    const { run, ages } = await openTimed();
    const firstChunk = async function* () {
      for await (const chunk of chunkRecords(run)()) {
        yield chunk;
        return;
      }
    };
    await collect(submitChunks(run)(firstChunk()));
    const resumed = { ...run, folioPermits: createPermits(1), controller: new AbortController() };
    await run.clock.sleep(8 * 60 * 60 * 1000, run.signal);
    expect(await trackAll(resumed)).toHaveLength(3);
    expect(ages.get('F1')).toHaveLength(1);
    expect(ages.get('F2')![0]).toBe(250);
  });

  it('leaves half of the requests to others: the more folios are open, the longer each is left alone', async () => {
    const run = await open((_, nth) => (nth < 2 ? report('PROCESSING') : report('FINISHED', 2)), {
      service: { baseUrl: 'https://service.test', token: 't0ken', requestsPerSecond: 1 },
    });
    const chunks = await collect(submitChunks(run)(chunkRecords(run)()));
    await collect(trackFolios(run)(Readable.from(chunks)));
    expect(run.clock.slept.filter((time) => time > 2_000)).toEqual([4_000, 6_000, 6_000]);
  });
});

it('any other error stops the run and changes nothing', async () => {
  const error = new TroubleError('OUTAGE', 'given up');
  const run = await open((folio) => {
    if (folio === 'F2') throw error;
    return report('PROCESSING');
  });
  await expect(trackAll(run)).rejects.toBe(error);
  expect(await run.checkpoint.chunk(run.id, 2)).toMatchObject({ state: 'submitted' });
});

it('an abort ends the waiting at once with its reason', async () => {
  const run = await open(() => report('PROCESSING'), { poll: { first: '1h', max: '5h', timeout: '9h' } });
  const stopped = { ...run, clock: { ...run.clock, sleep: sleepForGood } };
  const tracking = trackAll(stopped);
  tracking.catch(() => undefined);
  await expect.poll(() => pollsOf(run, 'F1')).toBe(1);
  run.controller.abort(new Error('SIGTERM'));
  await expect(tracking).rejects.toThrow('SIGTERM');
});

describe('until', () => {
  it('is over with the last chunk: as many folios as may be open are not waited for', async () => {
    const run = await open(() => report('PROCESSING'), { poll: { first: '1h', max: '5h', timeout: '9h' } });
    const allSubmitted = new AbortController();
    const submitted = async function* () {
      yield* submitChunks(run)(chunkRecords(run)());
      allSubmitted.abort();
    };
    const waiting = { ...run, clock: { ...run.clock, sleep: sleepForGood } };
    expect(await collect(trackFolios(waiting, allSubmitted.signal)(submitted()))).toEqual([]);
    expect(run.api.asked.filter((line) => line.startsWith('upload'))).toHaveLength(3);
  });

  it('is over already: each folio is asked exactly once', async () => {
    const run = await open((folio) => (folio === 'F2' ? report('FINISHED', 2) : report('PROCESSING')));
    expect((await trackAll(run, AbortSignal.abort())).map(({ number }) => number)).toEqual([2]);
    expect(['F1', 'F2', 'F3'].map((folio) => pollsOf(run, folio))).toEqual([1, 1, 1]);
    expect(run.clock.slept).toEqual([]);
  });

  it('is over in the middle of a wait: the folio is asked once more and left', async () => {
    const run = await open(() => report('PROCESSING'));
    const enough = new AbortController();
    const tracking = trackAll({ ...run, clock: { ...run.clock, sleep: sleepForGood } }, enough.signal);
    await expect.poll(() => pollsOf(run, 'F1')).toBe(1);
    await turns();
    enough.abort();
    expect(await tracking).toEqual([]);
    expect(['F1', 'F2', 'F3'].map((folio) => pollsOf(run, folio))).toEqual([2, 1, 1]);
  });
});

/** Waits for the abort alone. */
function sleepForGood(_: number, signal: AbortSignal): Promise<void> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
