import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { PredictionApi } from '../../../src/api/prediction-api.js';
import { AmbiguousUploadError, LockedError, RefusedError, UntrustedError } from '../../../src/errors.js';
import { chunkRecords } from '../../../src/stages/chunk/chunk-records.js';
import { submitChunks } from '../../../src/stages/submit/submit-chunks.js';
import { createPermits, type Permits, permitName } from '../../../src/streams/permits.js';
import { createFakeApi, idsOf } from '../../fake-service/fake-api.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, type StageRun, type StageRunOptions } from '../../helpers/stages/stage-run.js';
import { attemptsOf, failing, resumed, statesOf, submitAll } from '../../helpers/stages/submit-run.js';
import { collect } from '../../helpers/streams/collect.js';
import { turns } from '../../helpers/streams/gates.js';

const folder = useFolder();
const one = { uploads: 1, folios: 16 };
const NO_BUDGET = { day: '2026-11-21', perRun: null, perDay: null, perMonth: null };

async function open(options: StageRunOptions = {}): Promise<StageRun> {
  return createStageRun(await folder(), options);
}

const ambiguous = () =>
  new AmbiguousUploadError('AMBIGUOUS_UPLOAD', 'the connection was cut', { doubt: 'no-reply' });

describe('submitting', () => {
  it('uploads every chunk once, commits the intent first and the folio after', async () => {
    const seen: string[] = [];
    const service = createFakeApi();
    const run: StageRun = await open({
      config: { concurrency: one },
      api: {
        ...service,
        upload: async (request, signal) => {
          seen.push(...(await attemptsOf(run)).slice(-1));
          return service.upload(request, signal);
        },
      },
    });
    const submitted = await submitAll(run);
    expect(seen).toEqual(['1.1 intent', '2.1 intent', '3.1 intent']);
    expect(submitted.map(({ number, state, folio }) => [number, state, folio])).toEqual([
      [1, 'submitted', 'F1'],
      [2, 'submitted', 'F2'],
      [3, 'submitted', 'F3'],
    ]);
    expect([...service.folios.values()].map(idsOf)).toEqual([
      ['1', '2'],
      ['3', '4'],
      ['5', '6'],
    ]);
    expect(service.folios.get('F1')).toMatchObject({
      fileName: expect.stringMatching(/^nightly-20261121T031002-4f9c1a-1-1-[0-9a-f]{8}\.csv$/),
      description: expect.stringMatching(/^nightly 20261121T031002-4f9c1a 1 [0-9a-f]{8}$/),
    });
  });

  it('leaves no timer behind that would say of a folio that it is not recorded', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      await submitAll(await open());
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('never has more folios open than allowed, and goes on when one is given back', async () => {
    const run = await open({ config: { concurrency: { uploads: 3, folios: 2 } } });
    const submitting = submitAll(run);
    await turns(40);
    await expect.poll(() => run.api.folios.size).toBe(2);
    await turns(40);
    expect(run.api.folios.size).toBe(2);
    run.folioPermits.release(permitName(run.id, 1));
    run.folioPermits.release(permitName(run.id, 2));
    expect(await submitting).toHaveLength(3);
  });

  it('sends nothing after a pause of the service if uploads were stopped within it', async () => {
    const service = createFakeApi();
    let end = () => {};
    let waiting = 0;
    const pause = new Promise<void>((resolve) => {
      end = resolve;
    });
    const ready = () => {
      waiting += 1;
      return pause;
    };
    const run = await open({ config: { concurrency: one }, api: { ...service, ready } });
    const submitting = submitAll(run);
    await expect.poll(() => waiting).toBe(1);
    run.uploads.stopped = true;
    end();
    expect(await submitting).toEqual([]);
    expect(await attemptsOf(run)).toEqual([]);
  });

  it.each([
    ['is sent at once', 0, '1.1 accepted'],
    ['has waited for the service', 3_600_000, '1.1 dropped'],
  ])('uploads are stopped before one begins that %s', async (_, waits, outcome) => {
    const service = createFakeApi();
    const run: StageRun = await open({
      config: { concurrency: one },
      api: {
        ...service,
        upload: async (request, signal) => {
          run.uploads.stopped = true;
          await run.clock.sleep(waits, signal);
          request.begins?.();
          return service.upload(request, signal);
        },
      },
    });
    expect(await submitAll(run)).toHaveLength(waits === 0 ? 1 : 0);
    expect(await attemptsOf(run)).toEqual([outcome]);
    expect(await statesOf(run)).toEqual([waits === 0 ? 'submitted' : 'cut']);
  });

  it('takes an upload back while the service asks to wait, and sends it after that', async () => {
    const service = createFakeApi();
    const waits = [60_000, 1_000];
    const seen: string[][] = [];
    const run: StageRun = await open({
      records: 2,
      api: {
        ...service,
        ready: async () => void seen.push(await attemptsOf(run)),
        upload: async (request, signal) => {
          for (let time = waits.shift(); time !== undefined; time = waits.shift()) request.paused?.(time);
          return service.upload(request, signal);
        },
      },
    });
    expect(await submitAll(run)).toMatchObject([{ state: 'submitted', folio: 'F1' }]);
    expect(seen).toEqual([[], ['1.1 dropped']]);
    expect(await attemptsOf(run)).toEqual(['1.1 dropped', '1.2 accepted']);
  });

  it('takes an upload back that waits for long for a service that does not answer, and leaves no intent meanwhile', async () => {
    const service = createFakeApi();
    const slept: [number, readonly string[]][] = [];
    const run: StageRun = await open({
      records: 2,
      config: { retry: { max: '1m', giveUpAfter: '2h' } },
      api: {
        ...service,
        upload: async (request, signal) => {
          while (clock.now() < back) {
            await clock.sleep(2_000, signal);
            request.paused?.(0);
          }
          return service.upload(request, signal);
        },
      },
    });
    const { clock } = run;
    const back = clock.now() + 180_000;
    const sleep: StageRun['clock']['sleep'] = async (time, signal) => {
      slept.push([time, await statesOf(run)]);
      await clock.sleep(time, signal);
    };
    const submitted = await submitAll({ ...run, clock: { ...clock, sleep } });
    expect(submitted).toMatchObject([{ state: 'submitted', folio: 'F1' }]);
    // About twice as long each time, a minute at most.
    expect(slept).toEqual([6_000, 14_000, 30_000, 60_000, 60_000].map((time) => [time, ['cut']]));
    expect(await attemptsOf(run)).toEqual([
      ...[1, 2, 3, 4, 5].map((attempt) => `1.${attempt} dropped`),
      '1.6 accepted',
    ]);
  });

  it('takes an upload back that is about to be sent after a pause of this process in which the lock may have passed', async () => {
    const service = createFakeApi();
    const run = await open({
      config: { concurrency: one },
      api: {
        ...service,
        upload: async (request, signal) => {
          request.begins?.();
          return service.upload(request, signal);
        },
      },
    });
    let asked = 0;
    const expectHeld = async () => {
      asked += 1;
      if (asked > 1) throw new LockedError('LEASE_LOST', 'another process has it');
    };
    const lock = { isHeld: () => false, expectHeld };
    await expect(submitAll({ ...run, lock })).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(await attemptsOf(run)).toEqual(['1.1 dropped']);
    expect(service.folios.size).toBe(0);
  });

  it('goes on with a folio that another process has recorded while the chunk was sent again in vain', async () => {
    const refused = new RefusedError('SERVICE_REFUSED', 'no', { facts: { status: 422 } });
    const api = failing({ '1.1': ambiguous(), '1.2': refused });
    const run = await open({ records: 4, config: { concurrency: one }, api });
    const recordDropped: StageRun['checkpoint']['recordDropped'] = async (id, chunk, at) => {
      await run.checkpoint.recordDropped(id, chunk, at);
      const late = { folio: 'LATE', serviceRecords: null, rehearsal: false };
      await run.checkpoint.recordAdopted(id, chunk, late, at);
    };
    const submitted = await submitAll({ ...run, checkpoint: { ...run.checkpoint, recordDropped } });
    expect(submitted.map(({ number, folio }) => [number, folio])).toEqual([
      [2, 'F1'],
      [1, 'LATE'],
    ]);
    expect(await attemptsOf(run)).toEqual(['1.1 accepted', '1.2 dropped', '2.1 accepted']);
  });

  it('cuts a chunk file again that is missing or damaged, with the same bytes', async () => {
    const run = await open({ config: { concurrency: one } });
    const chunks = await collect(chunkRecords(run)());
    await run.files.removeChunk(1);
    await writeFile(join(run.config.stateDir, 'runs', run.id, 'chunk-000002.csv'), 'id,name\n999,x\n');
    await submitAll(run);
    expect([...run.api.folios.values()].map(idsOf)).toEqual([
      ['1', '2'],
      ['3', '4'],
      ['5', '6'],
    ]);
    expect(await run.files.hasChunk(2, chunks[1]!.sha256)).toBe(true);
  });

  it('leaves no intent where the chunk file cannot be read', async () => {
    const run = await open({ config: { concurrency: one } });
    const failure = new Error('no such file');
    const files = { ...run.files, chunkContent: () => Promise.reject(failure) };
    await expect(submitAll({ ...run, files })).rejects.toThrow(failure);
    expect(await attemptsOf(run)).toEqual([]);
    expect(await statesOf(run)).toEqual(['cut']);
  });

  it('passes on what is submitted or finished already, and uploads none of it', async () => {
    const run = await open();
    await submitAll(run);
    const listed = [{ fileStatus: 'SUCCESSFUL', part: 0 } as const];
    await run.checkpoint.recordFinished(run.id, 2, { successful: 2, failed: 0 }, listed);
    const again = await submitAll({ ...run, folioPermits: (await open()).folioPermits });
    expect(again.map(({ number, state }) => `${number} ${state}`).sort()).toEqual([
      '1 submitted',
      '2 finished',
      '3 submitted',
    ]);
    expect(run.api.folios.size).toBe(3);
  });
});

describe('an upload that the service refuses because of too many open folios', () => {
  it('asks once more, then waits for an open folio to end, and leaves no intent meanwhile', async () => {
    const service = createFakeApi();
    const open1 = async () => (await statesOf(run)).filter((state) => state === 'submitted').length;
    const refusals: string[] = [];
    const upload: PredictionApi['upload'] = async (request, signal) => {
      while (service.folios.size - ended >= 1) {
        refusals.push(request.file.name.split('-').at(-3)!);
        await request.refused!();
        await turns(5);
      }
      return service.upload(request, signal);
    };
    let ended = 0;
    const run: StageRun = await open({ config: { concurrency: one }, api: { ...service, upload } });
    const submitting = submitAll(run);
    for (const chunk of [1, 2]) {
      await expect.poll(() => refusals.length).toBe(2);
      await expect.poll(() => statesOf(run)).toEqual([...Array(chunk).fill('submitted'), 'cut']);
      expect(await open1()).toBe(chunk);
      ended += 1;
      await run.folioPermits.release(permitName(run.id, chunk));
    }
    expect(await submitting).toHaveLength(3);
    expect(refusals).toEqual(['2', '2']);
    expect(await attemptsOf(run)).toEqual(['1.1 accepted', '2.1 dropped', '2.2 accepted', '3.1 accepted']);
  });

  it.each([
    ['says how long to wait', 60_000],
    ['does not say how long to wait', 0],
  ])(
    'asks again alone where no folio is open, without an intent while it waits: the service %s',
    async (_, pause) => {
      const service = createFakeApi();
      const asked: string[] = [];
      const seen: (readonly string[])[] = [];
      const upload: PredictionApi['upload'] = async (request, signal) => {
        for (;;) {
          asked.push(request.file.name.split('-').at(-3)!);
          if (asked.length > 6) return service.upload(request, signal);
          await turns(5);
          await request.refused!();
          if (pause === 0) await run.clock.sleep(3_000, signal);
          request.paused?.(pause);
        }
      };
      const ready = async () => void seen.push(await statesOf(run));
      const config = { concurrency: { uploads: 2, folios: 2 } };
      const run: StageRun = await open({ records: 4, config, api: { ...service, upload, ready } });
      expect(await submitAll(run)).toHaveLength(2);
      expect(asked.slice(0, 7)).toEqual(['1', '2', '1', '1', '1', '1', '1']);
      const alone = seen.filter((states) => !states.includes('uploading') && !states.includes('submitted'));
      expect(alone.length).toBeGreaterThan(2);
    },
  );
});

describe('an ambiguous upload', () => {
  it('is sent again last of all, once', async () => {
    const run = await open({ config: { concurrency: one }, api: failing({ '1.1': ambiguous() }) });
    const submitted = await submitAll(run);
    expect(submitted.map(({ number }) => number)).toEqual([2, 3, 1]);
    expect(await attemptsOf(run)).toEqual(['1.1 ambiguous', '1.2 accepted', '2.1 accepted', '3.1 accepted']);
    expect((await run.checkpoint.tally(run.id)).uploads).toEqual({
      accepted: 3,
      ambiguous: 1,
      resubmitted: 1,
    });
  });

  it('that is decided about early, because it holds the only permit, is passed on once', async () => {
    const run = await open({ records: 4, config: { concurrency: one } });
    await collect(chunkRecords(run)());
    const name = { before: 'nightly-1-', after: '.csv' };
    await run.checkpoint.recordIntent(run.id, 1, name, 1, NO_BUDGET);
    await run.checkpoint.recordAmbiguous(run.id, 1, 2, 'no-reply');
    let isDoubtful = true;
    const acquire: StageRun['folioPermits']['acquire'] = async (holder, signal) => {
      if (!isDoubtful || holder !== permitName(run.id, 2)) return run.folioPermits.acquire(holder, signal);
      isDoubtful = false;
      return 'doubtful';
    };
    const submitted = await submitAll({ ...run, folioPermits: { ...run.folioPermits, acquire } });
    expect(submitted.map(({ number, state }) => `${number} ${state}`)).toEqual([
      '1 submitted',
      '2 submitted',
    ]);
    expect(await attemptsOf(run)).toEqual(['1.1 ambiguous', '1.2 accepted', '2.1 accepted']);
  });

  it('is not sent a third time by this process, and gives its permit back', async () => {
    const run = await open({
      config: { concurrency: { uploads: 1, folios: 3 } },
      api: failing({ '1.1': ambiguous(), '1.2': ambiguous() }),
    });
    expect((await submitAll(run)).map(({ number }) => number)).toEqual([2, 3]);
    expect(await attemptsOf(run)).toEqual(['1.1 ambiguous', '1.2 ambiguous', '2.1 accepted', '3.1 accepted']);
    await run.folioPermits.acquire(permitName(run.id, 99), run.signal);
  });

  it('is given up under hold', async () => {
    const run = await open({
      config: { concurrency: one, ambiguous: { policy: 'hold' } },
      api: failing({ '1.1': ambiguous() }),
    });
    const passed = await submitAll(run);
    expect(passed.map(({ number, cause }) => [number, cause])).toEqual([
      [2, null],
      [3, null],
      [1, 'AMBIGUOUS_HELD'],
    ]);
  });

  it('is logged once with the file to look for at the service and the command that binds its folio', async () => {
    const run = await open({
      config: { concurrency: one, ambiguous: { policy: 'hold' } },
      records: 2,
      api: failing({ '1.1': ambiguous() }),
    });
    await submitAll(run);
    const file = `if the service lists the file nightly-${run.id}-1-1-[0-9a-f]{8}.csv, bind it: `;
    const how = `${file}foliopipe adopt --run ${run.id} --chunk 1 FOLIO$`;
    expect(run.log.filter((line) => line.startsWith('warn '))).toEqual([
      expect.stringMatching(new RegExp(`decided on when everything else is sent; ${how}`)),
      expect.stringMatching(
        /^warn chunk 1 may have been accepted and is not sent again: ambiguous.policy is hold$/,
      ),
    ]);
  });

  it('is what a chunk becomes whose folio cannot be recorded, and the folio is logged', async () => {
    const run = await open({ records: 2 });
    const checkpoint = { ...run.checkpoint, recordAccepted: () => Promise.reject(new Error('no disk')) };
    await expect(submitAll({ ...run, checkpoint })).rejects.toMatchObject({
      code: 'FOLIO_NOT_RECORDED',
      exitCode: 2,
      hint: expect.stringMatching(
        new RegExp(
          `^repair the state folder or the database of the state, then.*: foliopipe adopt --run ${run.id} --chunk 1 F1$`,
        ),
      ),
    });
    expect(await run.checkpoint.recordInterrupted(run.id)).toBe(1);
    await run.checkpoint.recordAdopted(run.id, 1, { folio: 'F1', serviceRecords: 2, rehearsal: false }, 1);
    expect(await statesOf(run)).toEqual(['submitted']);
  });

  it('is given up beyond the records allowed in a run', async () => {
    const run = await open({
      config: { concurrency: one, ambiguous: { maxRecords: 3 } },
      api: failing({ '1.1': ambiguous(), '2.1': ambiguous() }),
    });
    await submitAll(run);
    expect(await statesOf(run)).toEqual(['unprocessed', 'unprocessed', 'submitted']);
  });

  it('is not decided on once the run is interrupted', async () => {
    const service = failing({});
    const run: StageRun = await open({
      config: { concurrency: one, ambiguous: { policy: 'hold' } },
      records: 2,
      api: {
        ...service,
        upload: async () => {
          run.controller.abort(new Error('SIGTERM'));
          throw ambiguous();
        },
      },
    });
    await expect(submitAll(run)).rejects.toThrow('SIGTERM');
    expect(await statesOf(run)).toEqual(['ambiguous']);
  });
});

describe('ambiguous uploads that hold all permits of the account', () => {
  /** A run with one permit, which an upload in doubt keeps. Folios end as soon as they are passed on. */
  async function submitWithOne(policy: 'hold' | 'resubmit', errors: Record<string, Error>) {
    const run = await open({
      config: { concurrency: { uploads: 1, folios: 1 }, ambiguous: { policy } },
      api: failing(errors),
    });
    const permits = createPermits(1);
    const acquire: Permits['acquire'] = async (holder, signal) => {
      const doubtful = await run.checkpoint.chunksIn(run.id, ['ambiguous'], 0, 9);
      const isOther = ({ number }: { number: number }) => permitName(run.id, number) !== holder;
      return doubtful.some(isOther) ? 'doubtful' : permits.acquire(holder, signal);
    };
    const passed: string[] = [];
    const submit = submitChunks({ ...run, folioPermits: { ...permits, acquire } });
    for await (const { number, state } of submit(chunkRecords(run)())) {
      passed.push(`${number} ${state}`);
      await permits.release(permitName(run.id, number));
    }
    return { run, passed };
  }

  it.each([
    ['resubmit', '1 submitted', ['1.1 ambiguous', '1.2 accepted', '2.1 accepted', '3.1 accepted']],
    ['hold', '1 unprocessed', ['1.1 ambiguous', '2.1 accepted', '3.1 accepted']],
  ] as const)('are decided on before the rest is sent, under %s', async (policy, first, attempts) => {
    const { run, passed } = await submitWithOne(policy, { '1.1': ambiguous() });
    expect(passed).toEqual([first, '2 submitted', '3 submitted']);
    expect(await attemptsOf(run)).toEqual(attempts);
  });

  it('are not sent a third time by this process: a later one decides, and sends the rest', async () => {
    const { run, passed } = await submitWithOne('resubmit', { '1.1': ambiguous(), '1.2': ambiguous() });
    expect(passed).toEqual([]);
    expect(await attemptsOf(run)).toEqual(['1.1 ambiguous', '1.2 ambiguous']);
    expect(run.uploads.stopped).toBe(true);
  });
});

describe('an ambiguous upload of another process', () => {
  const reply = (folio: string) => ({ folio, serviceRecords: 2, rehearsal: false });
  /** A run whose first chunk an earlier process was uploading when it lost its lease. */
  async function takenOver(policy: 'hold' | 'resubmit'): Promise<StageRun> {
    const run = await open({ config: { concurrency: one, ambiguous: { policy } } });
    const [first] = await collect(chunkRecords(run)());
    await run.checkpoint.recordIntent(run.id, first!.number, { before: 'a-', after: '' }, 1, NO_BUDGET);
    await run.checkpoint.recordInterrupted(run.id);
    return run;
  }

  it('under hold is given up with the command that binds its folio', async () => {
    const run = await takenOver('hold');
    await submitAll(run);
    const [warning, ...others] = run.log.filter((line) => line.startsWith('warn '));
    expect(warning).toMatch(/ambiguous.policy is hold; if the service lists .* --chunk 1 FOLIO$/);
    expect(others).toEqual([]);
  });

  it.each(['hold', 'resubmit'] as const)(
    'under %s is passed on if that process has recorded its folio since',
    async (policy) => {
      const run = await takenOver(policy);
      const service = createFakeApi();
      const upload: PredictionApi['upload'] = async (request, signal) => {
        const [attempt] = await run.checkpoint.attempts(run.id, 1);
        if (attempt!.state === 'ambiguous') await run.checkpoint.recordAdopted(run.id, 1, reply('G1'), 2);
        return service.upload(request, signal);
      };
      const passed = await submitAll({ ...run, api: { ...service, upload } });
      expect(passed.map(({ number, state, folio }) => [number, state, folio])).toEqual([
        [2, 'submitted', 'F1'],
        [3, 'submitted', 'F2'],
        [1, 'submitted', 'G1'],
      ]);
      expect(await attemptsOf(run)).toEqual(['1.1 accepted', '2.1 accepted', '3.1 accepted']);
    },
  );

  it('is passed on if that process records its folio as the chunk is sent again', async () => {
    const run = await takenOver('resubmit');
    const recordIntent: StageRun['checkpoint']['recordIntent'] = async (id, chunk, ...rest) => {
      if (chunk === 1) await run.checkpoint.recordAdopted(id, chunk, reply('G1'), 2);
      return run.checkpoint.recordIntent(id, chunk, ...rest);
    };
    const passed = await submitAll({ ...run, checkpoint: { ...run.checkpoint, recordIntent } });
    expect(passed.map(({ number, folio }) => [number, folio])).toEqual([
      [2, 'F1'],
      [3, 'F2'],
      [1, 'G1'],
    ]);
    expect(await attemptsOf(run)).toEqual(['1.1 accepted', '2.1 accepted', '3.1 accepted']);
  });
});

describe('an upload that is redirected', () => {
  const redirect = (fileName: string) =>
    new AmbiguousUploadError('SERVICE_REDIRECTS', 'upload: HTTP 303', {
      doubt: 'redirected',
      hint: 'write the right address into service.baseUrl',
      facts: { status: 303, fileName },
    });
  const redirecting = (times: number) => {
    const service = failing({});
    let count = 0;
    const upload: PredictionApi['upload'] = async (request, signal) => {
      if (++count <= times) throw redirect(request.file.name);
      return service.upload(request, signal);
    };
    return { ...service, upload };
  };

  it('is ambiguous, ends the run at once, and is never split', async () => {
    const run = await open({ config: { concurrency: one }, api: redirecting(1) });
    await expect(submitAll(run)).rejects.toMatchObject({
      code: 'SERVICE_REDIRECTS',
      exitCode: 7,
      message: 'chunk 1: upload: HTTP 303',
      hint: expect.stringMatching(
        /service\.baseUrl; if the service lists the file \S+-1-1-\w+\.csv, bind it: foliopipe adopt/,
      ),
    });
    expect(await attemptsOf(run)).toEqual(['1.1 ambiguous']);
    expect((await run.checkpoint.uploads(run.id, 0, 9))[0]).toMatchObject({ doubt: 'redirected' });
    expect((await run.checkpoint.tally(run.id)).ambiguousRecords).toBe(2);
  });

  it('is named with its file where the client of a program has named nothing', async () => {
    const upload = async () => {
      throw new AmbiguousUploadError('MOVED', 'upload: HTTP 303', { doubt: 'redirected' });
    };
    const run = await open({ config: { concurrency: one }, api: { ...failing({}), upload } });
    await expect(submitAll(run)).rejects.toMatchObject({
      hint: expect.stringMatching(
        /^if the service lists the file \S+-1-1-\w+\.csv, bind it: foliopipe adopt/,
      ),
    });
  });

  it('is decided on last of all by the next process, which is stopped by a redirect at once too', async () => {
    const run = await open({ config: { concurrency: one }, api: redirecting(1) });
    await expect(submitAll(run)).rejects.toMatchObject({ exitCode: 7 });
    const second = resumed(run, redirecting(1));
    await expect(submitAll(second)).rejects.toMatchObject({ exitCode: 7 });
    expect(await attemptsOf(run)).toEqual(['1.1 ambiguous', '2.1 ambiguous']);
    // A minute later the address is right: what is new is sent first, and shows it.
    await run.clock.sleep(60_000, new AbortController().signal);
    await submitAll(resumed(run, redirecting(0)));
    expect(await attemptsOf(run)).toEqual([
      '1.1 ambiguous',
      '1.2 accepted',
      '2.1 ambiguous',
      '2.2 accepted',
      '3.1 accepted',
    ]);
  });

  it('is never sent again while nothing says that it would not be redirected once more', async () => {
    const run = await open({ records: 4, config: { concurrency: one }, api: redirecting(2) });
    for (let process = 1; process <= 4; process++) {
      const service = process === 1 ? redirecting(1) : redirecting(9);
      await expect(submitAll(resumed(run, service))).rejects.toMatchObject({
        code: 'SERVICE_REDIRECTS',
        exitCode: 7,
        hint: expect.stringContaining('foliopipe adopt'),
      });
    }
    expect(await attemptsOf(run)).toEqual(['1.1 ambiguous', '2.1 ambiguous']);
  });

  it('lets those in flight end, and none begins', async () => {
    const service = failing({});
    const seen: string[] = [];
    const upload: PredictionApi['upload'] = async (request, signal) => {
      const [, chunk] = /-(\d+)-\d+-[0-9a-f]{8}\.csv$/.exec(request.file.name)!;
      seen.push(chunk!);
      if (chunk === '1') throw redirect(request.file.name);
      await turns(100);
      return service.upload(request, signal);
    };
    const run = await open({
      records: 12,
      config: { concurrency: { uploads: 2, folios: 16 } },
      api: { ...service, upload },
    });
    await expect(submitAll(run)).rejects.toMatchObject({ code: 'SERVICE_REDIRECTS' });
    expect(await attemptsOf(run)).toEqual(['1.1 ambiguous', ...(seen[1] ? ['2.1 accepted'] : [])]);
  });

  it('lets none begin while its file is looked up', async () => {
    const service = failing({});
    let [isSecondSent, isLookedUp] = [false, false];
    const upload: PredictionApi['upload'] = async (request, signal) => {
      if (request.file.name.includes('-1-1-')) {
        while (!isSecondSent) await turns();
        throw redirect(request.file.name);
      }
      isSecondSent = true;
      while (!isLookedUp) await turns();
      return service.upload(request, signal);
    };
    const run = await open({
      records: 12,
      config: { concurrency: { uploads: 2, folios: 16 } },
      api: { ...service, upload },
    });
    const attempts: typeof run.checkpoint.attempts = async (...args) => {
      isLookedUp = true;
      await turns(100);
      return run.checkpoint.attempts(...args);
    };
    const slow = { ...run, checkpoint: { ...run.checkpoint, attempts } };
    await expect(submitAll(slow)).rejects.toMatchObject({ code: 'SERVICE_REDIRECTS' });
    expect(await attemptsOf(run)).toEqual(['1.1 ambiguous', '2.1 accepted']);
  });
});

it('an upload that waits is not taken for the one whose redirect ends the run', async () => {
  const warnings: string[] = [];
  const upload: PredictionApi['upload'] = async ({ file: { name } }, signal) => {
    if (name.includes('-1-1-')) {
      await turns(20);
      throw new AmbiguousUploadError('SERVICE_REDIRECTS', 'upload: HTTP 303', {
        doubt: 'redirected',
        hint: 'write the right address into service.baseUrl',
        facts: { status: 303, fileName: name },
      });
    }
    if (!signal.aborted) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    }
    throw signal.reason;
  };
  const run = await open({
    records: 12,
    config: { concurrency: { uploads: 2, folios: 16 } },
    api: { ...failing({}), upload },
  });
  const logger = { ...run.logger, warn: (_: object, text: string) => void warnings.push(text) };
  await expect(submitAll({ ...run, logger })).rejects.toMatchObject({ message: 'chunk 1: upload: HTTP 303' });
  expect(await attemptsOf(run)).toEqual(['1.1 ambiguous', '2.1 dropped']);
  expect((await run.checkpoint.tally(run.id)).ambiguousRecords).toBe(2);
  expect(warnings).toEqual([]);
});

describe('an upload that fails', () => {
  it('was certainly not accepted: the chunk is cut as before, and the run stops', async () => {
    const refused = new RefusedError('SERVICE_REFUSED', 'the token is wrong');
    const run = await open({ config: { concurrency: one }, api: failing({ '2.1': refused }) });
    await expect(submitAll(run)).rejects.toBe(refused);
    expect(await attemptsOf(run)).toEqual(['1.1 accepted', '2.1 dropped']);
    expect((await statesOf(run)).slice(0, 2)).toEqual(['submitted', 'cut']);
  });

  it('for a reason that is a fault of ours proves nothing: the chunk is ambiguous', async () => {
    const run = await open({ config: { concurrency: one }, api: failing({ '1.1': new TypeError('a bug') }) });
    await expect(submitAll(run)).rejects.toThrow('a bug');
    expect(await attemptsOf(run)).toEqual(['1.1 ambiguous']);
  });

  it('because the service counts other records stops all uploads, and keeps the folio', async () => {
    const service = createFakeApi();
    const upload: PredictionApi['upload'] = async (request, signal) => ({
      ...(await service.upload(request, signal)),
      totalRecords: 3,
    });
    const run = await open({ config: { concurrency: one }, api: { ...service, upload } });
    const error = await submitAll(run).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UntrustedError);
    expect(error).toMatchObject({ code: 'UPLOAD_MISREAD', facts: { chunk: 1, folio: 'F1' } });
    expect(service.folios.size).toBe(1);
    expect(await run.checkpoint.chunk(run.id, 1)).toMatchObject({ state: 'submitted', folio: 'F1' });
  });
});
