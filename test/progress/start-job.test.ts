import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { InterruptedError, TroubleError } from '../../src/errors.js';
import { type Logger, silentLogger } from '../../src/logger.js';
import type { JobEvent, OnProgress } from '../../src/progress/events.js';
import { startJob } from '../../src/progress/start-job.js';

const scan = (records: number): JobEvent => ({ type: 'scan', bytes: records, records });
const copy: JobEvent = { type: 'copy', bytes: 1 };
const turn = () => new Promise((resolve) => setImmediate(resolve));
const trouble = new TroubleError('DISK_FULL', 'the disk is full');

let unhandled: unknown[];
const listen = (error: unknown) => void unhandled.push(error);
beforeEach(() => {
  unhandled = [];
  process.on('unhandledRejection', listen);
});
afterEach(async () => {
  await turn();
  process.off('unhandledRejection', listen);
  expect(unhandled).toEqual([]);
});

const throwing = () => {
  throw new Error('no text');
};

/** A job that waits to be told what to do. */
function heldJob(options: Parameters<typeof startJob>[0] = {}) {
  let [tell, resolve, reject]: [OnProgress, (result: string) => void, (error: unknown) => void] = [] as never;
  const job = startJob(options, ({ onProgress }) => {
    tell = onProgress;
    return new Promise<string>((...ends) => {
      [resolve, reject] = ends;
    });
  });
  return { job, tell, resolve, reject };
}

async function eventsOf(job: AsyncIterable<JobEvent>): Promise<JobEvent[]> {
  const events: JobEvent[] = [];
  for await (const event of job) events.push(event);
  return events;
}

describe('startJob', () => {
  it('gives the events and then the result', async () => {
    const { job, tell, resolve } = heldJob();
    const events = eventsOf(job);
    tell(copy);
    await turn();
    tell(scan(1));
    await turn();
    tell(scan(2));
    resolve('summary');
    expect(await events).toEqual([copy, scan(1), scan(2)]);
    expect(await job).toBe('summary');
    expect(job).toBeInstanceOf(Promise);
  });

  it('keeps the latest event of each type for who is slow or comes late', async () => {
    const { job, tell, resolve } = heldJob();
    for (let records = 1; records <= 1000; records++) tell(scan(records));
    tell(copy);
    resolve('summary');
    await job;
    expect(await eventsOf(job)).toEqual([scan(1000), copy]);
  });

  it('gives the events that are kept in the order in which they came', async () => {
    const { job, tell, resolve } = heldJob();
    for (const event of [scan(1), copy, scan(2)]) tell(event);
    resolve('summary');
    expect(await eventsOf(job)).toEqual([copy, scan(2)]);
  });

  it('throws its error at who awaits it, at who iterates, and at both', async () => {
    for (const consume of [
      (job: ReturnType<typeof heldJob>['job']) => [job],
      (job: ReturnType<typeof heldJob>['job']) => [eventsOf(job)],
      (job: ReturnType<typeof heldJob>['job']) => [job, eventsOf(job), eventsOf(job)],
    ]) {
      const { job, tell, reject } = heldJob();
      const ends = Promise.allSettled(consume(job));
      tell(copy);
      await turn();
      reject(trouble);
      await turn();
      for (const end of await ends) expect(end).toEqual({ status: 'rejected', reason: trouble });
    }
  });

  it('leaves its error to the process if nobody consumes it', async () => {
    const { reject } = heldJob();
    reject(trouble);
    await turn();
    expect(unhandled.splice(0)).toEqual([trouble]);
  });

  it('throws it also at a loop whose body is busy when the job fails', async () => {
    const { job, tell, reject } = heldJob();
    tell(copy);
    const loop = (async () => {
      for await (const _ of job) {
        reject(trouble);
        await turn();
        await turn();
      }
    })();
    await expect(loop).rejects.toBe(trouble);
  });

  it('goes on when the loop is left, and still gives its result or its error', async () => {
    for (const end of ['summary', trouble]) {
      const { job, tell, resolve, reject } = heldJob();
      tell(copy);
      for await (const _ of job) break;
      expect(tell.isHeard?.()).toBe(false);
      if (typeof end === 'string') resolve(end);
      else reject(end);
      const [ended] = await Promise.allSettled([job]);
      expect(ended).toMatchObject(typeof end === 'string' ? { value: end } : { reason: end });
    }
  });

  it('is heard by a callback and by a loop, and by nobody else', async () => {
    const quiet = heldJob();
    expect(quiet.tell.isHeard?.()).toBe(false);
    const loop = eventsOf(quiet.job);
    expect(quiet.tell.isHeard?.()).toBe(true);
    quiet.resolve('');
    await loop;
    const told: JobEvent[] = [];
    const { job, tell, resolve } = heldJob({ onProgress: (event: JobEvent) => void told.push(event) });
    expect(tell.isHeard?.()).toBe(true);
    tell(copy);
    resolve('');
    await job;
    expect(told).toEqual([copy]);
  });

  it('survives a callback that throws, and says so once', async () => {
    const lines: string[] = [];
    const logger = { ...silentLogger, warn: (_: object, text: string) => void lines.push(text) };
    let calls = 0;
    const onProgress = () => {
      calls += 1;
      throw new Error('no screen');
    };
    const { job, tell, resolve } = heldJob({ onProgress, logger });
    tell(copy);
    tell(copy);
    resolve('summary');
    expect(await job).toBe('summary');
    expect(lines).toEqual(['onProgress has thrown and is called no more; the job goes on: no screen']);
    expect(calls).toBe(1);
  });

  it('survives a callback that throws where there is no logger', async () => {
    const { job, tell, resolve } = heldJob({ onProgress: throwing });
    tell(copy);
    resolve('summary');
    expect(await job).toBe('summary');
  });

  it.each<[string, OnProgress]>([
    ['gives a promise that fails', () => Promise.reject(new Error('no screen'))],
    [
      'throws in isHeard',
      Object.assign(() => undefined, {
        isHeard: () => {
          throw new Error('no screen');
        },
      }),
    ],
    [
      'throws what has no text',
      () => {
        throw Object.create(null);
      },
    ],
  ])('survives a callback that %s', async (_, onProgress) => {
    const lines: string[] = [];
    const logger = { ...silentLogger, warn: (__: object, text: string) => void lines.push(text) };
    const { job, tell, resolve } = heldJob({ onProgress, logger });
    tell(copy);
    tell(copy);
    tell.isHeard?.();
    await turn();
    tell(copy);
    expect(tell.isHeard?.()).toBe(false);
    resolve('summary');
    expect(await job).toBe('summary');
    expect(lines).toHaveLength(1);
  });

  it('survives a logger that throws, or gives a promise that fails', async () => {
    const fail = () => {
      throw new Error('the disk of the log is full');
    };
    const logger: Logger = {
      debug: fail,
      info: fail,
      warn: fail,
      error: () => Promise.reject(new Error('later')),
    };
    const job = startJob({ logger }, async (given) => {
      given.logger.info({}, 'begun');
      given.logger.error({}, 'bad');
      return 'summary';
    });
    expect(await job).toBe('summary');
  });

  it.each([
    ['a time-out', () => AbortSignal.timeout(1), 'stopped by a time-out of its caller', 'TimeoutError'],
    ['an abort', () => AbortSignal.abort(), 'stopped by its caller', 'AbortError'],
    ['a reason', () => AbortSignal.abort(new Error('enough')), 'stopped by its caller: enough', 'Error'],
    [
      'a hostile reason',
      () => AbortSignal.abort(new Error('\u{1b}[2J')),
      'stopped by its caller: \\u{1b}[2J',
      'Error',
    ],
  ])('ends after %s with an InterruptedError', async (_, signal, message, name) => {
    const job = startJob({ signal: signal() }, async (given) => {
      const stop = given.signal!;
      if (!stop.aborted) await new Promise((resolve) => stop.addEventListener('abort', resolve));
      stop.throwIfAborted();
    });
    const error = await job.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InterruptedError);
    expect(error).toMatchObject({ message, exitCode: 143, code: 'INTERRUPTED', cause: { name } });
  });

  it.each([[Object.create(null)], [{ toString: throwing }], [Symbol('s')]])(
    'is stopped by a reason of any kind',
    async (reason) => {
      const controller = new AbortController();
      const job = startJob({ signal: controller.signal }, async ({ signal }) => {
        await new Promise((resolve) => signal!.addEventListener('abort', resolve));
        signal!.throwIfAborted();
      });
      controller.abort(reason);
      await expect(job).rejects.toMatchObject({ code: 'INTERRUPTED', cause: reason });
    },
  );

  it('ends with the reason itself if that is an error of ours, whatever Node throws', async () => {
    const reason = new InterruptedError('SIGINT');
    const job = startJob({ signal: AbortSignal.abort(reason) }, async (given) => {
      const { setTimeout: sleep } = await import('node:timers/promises');
      await sleep(1000, undefined, { signal: given.signal! });
    });
    await expect(job).rejects.toBe(reason);
  });
});
