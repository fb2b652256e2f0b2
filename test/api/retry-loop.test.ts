/** Attempts, back-off, giving up, and what is logged. */
import { describe, expect, test } from 'vitest';
import { AttemptError, type Failure } from '../../src/api/failure.js';
import { RateLimiter, type RequestLimiter } from '../../src/api/rate-limiter.js';
import type { Operation } from '../../src/api/requests.js';
import { type ApiWatcher, RetryLoop } from '../../src/api/retry-loop.js';
import { BrokenReplyError, FolioLostError, TroubleError } from '../../src/errors.js';
import { MalformedReplyError } from '../../src/streams/malformed-reply-error.js';
import { errorOf, noSignal } from '../helpers/api/test-client.js';

const CUT: Failure = { kind: 'cut', code: 'ECONNRESET', message: 'reset' };
const status = (code: number, retryAfter: number | null = null, fromService = true): Failure => ({
  kind: 'status',
  status: code,
  retryAfter,
  fromService,
  message: 'no',
});

function createLoop(
  giveUpAfter = 60_000,
  lostAfter = 0,
  now = () => performance.now(),
  watcher?: ApiWatcher,
  limiter: RequestLimiter = new RateLimiter(10_000),
) {
  const log: string[] = [];
  const loop = new RetryLoop({
    limiter,
    retry: { first: 1, max: 3, giveUpAfter },
    lostAfter,
    logger: {
      debug: () => log.push('debug'),
      info: (_fields, message) => log.push(`info ${message}`),
      warn: (_fields, message) => log.push(`warn ${message}`),
    },
    show: (text) => text,
    clock: { now },
    ...(watcher && { watcher }),
  });
  const run = <T>(
    operation: Operation,
    attempt: (written: () => void) => Promise<T>,
    signal = noSignal,
    until?: AbortSignal,
  ) =>
    loop.run({ operation, path: '/x', request: 'GET http://x/x', facts: { folio: 'F' } }, attempt, signal, {
      until,
    });
  return { loop, run, log };
}

/** Fails in these ways, one an attempt, then gives `done`. */
function failing(...failures: (Failure | Error)[]): {
  attempt: () => Promise<string>;
  attempts: () => number;
} {
  let attempts = 0;
  return {
    attempts: () => attempts,
    attempt: async () => {
      const failure = failures[attempts++];
      if (failure === undefined) return 'done';
      throw failure instanceof Error ? failure : new AttemptError(failure);
    },
  };
}

test('an outage is logged when it begins and when it is over, its attempts only at debug', async () => {
  const { run, log } = createLoop();
  const { attempt } = failing(CUT, CUT, status(500), new MalformedReplyError('the reply is not JSON'));
  expect(await run('track', attempt)).toBe('done');
  expect(log.filter((line) => line === 'debug')).toHaveLength(4);
  expect(log.filter((line) => line !== 'debug')).toEqual([
    'warn track fails and is tried again: reset (ECONNRESET)',
    'info track works again after 0 s',
  ]);
});

test('a limiter is told when each attempt is written, or ends without', async () => {
  const told: string[] = [];
  const limiter = { wait: async () => () => void told.push('written'), pause: () => undefined };
  const { run } = createLoop(60_000, 0, undefined, undefined, limiter);
  const { attempt } = failing(CUT);
  const write = async (written: () => void): Promise<string> => {
    const done = await attempt();
    written();
    told.push(done);
    return done;
  };
  await run('track', write);
  expect(told).toEqual(['written', 'written', 'done', 'written']);
});

test('a limiter may count at the start: it resolves with nothing', async () => {
  const limiter = { wait: async () => undefined, pause: () => undefined };
  const { run } = createLoop(60_000, 0, undefined, undefined, limiter);
  expect(await run('track', failing(CUT).attempt)).toBe('done');
});

test('a watcher is told of throttles and outages, and when the operation works again', async () => {
  const told: string[] = [];
  const watcher = {
    throttled: (time: number, why: string) => void told.push(`throttled ${time}: ${why}`),
    failing: (operation: string, lasting: number, left: number, why: string) =>
      void told.push(`${operation} ${lasting + left}: ${why}`),
    works: (operation: string) => void told.push(`${operation} works`),
  };
  const { run } = createLoop(60_000, 0, () => 0, watcher);
  await run('track', failing(CUT, status(429, 5)).attempt);
  expect(told).toEqual([
    'track 60000: track fails: reset (ECONNRESET)',
    'throttled 5: HTTP 429: no',
    'track works',
  ]);
});

test('the time in which this process does not run is neither an outage nor counts for a missing folio', async () => {
  const { run } = createLoop(1, 1, () => 0);
  const long = failing(...Array.from({ length: 10 }, () => CUT));
  expect(await run('track', long.attempt)).toBe('done');
  const missing = failing(...Array.from({ length: 10 }, () => status(404)));
  expect(await run('track', missing.attempt)).toBe('done');
});

describe('a reply that breaks the interface', () => {
  const broken = (breach: string) => new MalformedReplyError(`${breach}, in the reply: x`, breach);
  const one = broken('response.part: expected a whole number');
  const html = new MalformedReplyError('the reply is not JSON: <html>');

  test('is sure after six of the same kind, whatever comes between them', async () => {
    const { run } = createLoop();
    const passing = failing(one, one, one, one, one, broken('another'), one, one);
    expect(await run('track', passing.attempt)).toBe('done');
    const sure = failing(one, CUT, one, one, html, one, one, one);
    const error = await errorOf(run('track', sure.attempt));
    expect(error).toBeInstanceOf(BrokenReplyError);
    expect(error).toMatchObject({ code: 'REPLY_BREAKS_INTERFACE', exitCode: 6, facts: { folio: 'F' } });
    expect(sure.attempts()).toBe(8);
  });

  test('is asked for as long as lostAfter says, also if giveUpAfter is shorter', async () => {
    let time = 0;
    const { run } = createLoop(10, 200, () => time);
    const attempt = async () => {
      time += 15;
      throw one;
    };
    expect(await errorOf(run('track', attempt))).toBeInstanceOf(BrokenReplyError);
    // From the first attempt, at 15.
    expect(time).toBe(15 + 210);
  });

  test('is an outage if it is no JSON of the interface', async () => {
    const { run } = createLoop(30);
    const attempt = async () => {
      throw html;
    };
    expect(await errorOf(run('track', attempt))).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });
});

describe('a folio that the service does not know', () => {
  const gone = status(404);

  test('is lost only after six such replies in a row', async () => {
    const { run } = createLoop();
    const blip = failing(gone, gone, gone, gone, status(410), status(502));
    expect(await run('track', blip.attempt)).toBe('done');
    const lost = failing(gone, gone, status(410), gone, gone, gone);
    const error = await errorOf(run('track', lost.attempt));
    expect(error).toBeInstanceOf(FolioLostError);
    expect(error).toMatchObject({
      code: 'FOLIO_LOST',
      facts: { folio: 'F', status: 404, operation: 'track' },
    });
  });

  test('is lost also if other failures come between the replies: they say nothing about the folio', async () => {
    const { run } = createLoop();
    const between = failing(gone, status(502), gone, gone, status(503), gone, gone, status(502), gone);
    expect(await errorOf(run('track', between.attempt))).toBeInstanceOf(FolioLostError);
  });

  test('is requested for as long as lostAfter says, also if giveUpAfter is shorter', async () => {
    let time = 0;
    const { run, log } = createLoop(10, 300, () => time);
    const attempt = async () => {
      time += 20;
      throw new AttemptError(gone);
    };
    expect(await errorOf(run('download', attempt))).toBeInstanceOf(FolioLostError);
    // From the first attempt, at 20.
    expect(time).toBe(20 + 300);
    expect(log.filter((line) => line.startsWith('warn'))).toEqual([
      'warn download of folio F: HTTP 404: no; this is tried again for 300ms',
    ]);
  });

  test('is an outage if a proxy says so', async () => {
    const { run } = createLoop(30);
    const attempt = async () => {
      throw new AttemptError(status(404, null, false));
    };
    expect(await errorOf(run('track', attempt))).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });

  test('is lost after one reply if the caller waits for no other', async () => {
    const { run } = createLoop(60_000, 60_000);
    const once = AbortSignal.abort();
    const lost = failing(CUT, status(404, null, false), gone);
    expect(await errorOf(run('track', lost.attempt, noSignal, once))).toBeInstanceOf(FolioLostError);
    expect(lost.attempts()).toBe(3);
  });

  test('is lost after the next reply once the caller waits no longer', async () => {
    const { run } = createLoop(60_000, 60_000);
    const until = new AbortController();
    let attempts = 0;
    const attempt = async () => {
      attempts += 1;
      if (attempts === 8) until.abort();
      throw new AttemptError(gone);
    };
    expect(await errorOf(run('track', attempt, noSignal, until.signal))).toBeInstanceOf(FolioLostError);
    expect(attempts).toBe(8);
  });
});

test('gives up when the outage is longer than giveUpAfter; the next call does not wait as long again', async () => {
  let time = 0;
  const { run } = createLoop(300, 0, () => time);
  const always = { attempts: 0 };
  const attempt = async () => {
    always.attempts += 1;
    time += 100;
    throw new AttemptError(CUT);
  };
  const error = await errorOf(run('track', attempt));
  expect(error).toBeInstanceOf(TroubleError);
  expect(error).toMatchObject({ code: 'SERVICE_UNAVAILABLE', hint: expect.stringContaining('same command') });
  expect(always.attempts).toBe(4);
  always.attempts = 0;
  await errorOf(run('track', attempt));
  expect(always.attempts).toBe(1);
});

test('says for how long the service asks to wait when it gives up', async () => {
  const { run } = createLoop(0);
  const error = await errorOf(run('track', failing(status(429, 7_200_000)).attempt));
  expect((error as Error).message).toMatch(/retry\.giveUpAfter: HTTP 429.*; the service asks to wait 2h$/);
});

test('a value that comes together with an abort is kept', async () => {
  const { run } = createLoop();
  const controller = new AbortController();
  const attempt = async () => {
    controller.abort();
    return 'folio';
  };
  expect(await run('upload', attempt, controller.signal)).toBe('folio');
});

test('an abort ends a wait with its own reason, of any type', async () => {
  const { run } = createLoop();
  const controller = new AbortController();
  const attempt = async () => {
    setTimeout(() => controller.abort('enough'), 5);
    throw new AttemptError(status(503, 3_600_000));
  };
  expect(await errorOf(run('track', attempt, controller.signal))).toBe('enough');
});

test("an error that is not the service's ends the call unchanged", async () => {
  const { run } = createLoop();
  const full = Object.assign(new Error('disk full'), { code: 'ENOSPC' });
  expect(await errorOf(run('download', failing(full).attempt))).toBe(full);
});

test('a Retry-After of 0 does not cause a storm of requests', async () => {
  const { run } = createLoop(100);
  let attempts = 0;
  const attempt = async () => {
    attempts += 1;
    throw new AttemptError(status(429, 0));
  };
  await errorOf(run('upload', attempt));
  expect(attempts).toBeLessThan(101);
});

test('a refusal because of too many is told first, and may end the call alone', async () => {
  const { loop } = createLoop(60);
  const told: string[] = [];
  const refused = () => void told.push('refused');
  const paused = (time: number) => {
    told.push(`paused ${time}`);
    throw new Error('taken back');
  };
  const call = { operation: 'upload', path: '/x', request: 'POST http://x/x', facts: {} } as const;
  const { attempt } = failing(status(429, 20));
  await expect(loop.run(call, attempt, noSignal, { refused, paused })).rejects.toThrow('taken back');
  expect(told).toEqual(['refused', 'paused 20']);
});

test.each([
  ['a pause is told, and may end the call', status(503, 20), [20]],
  ['one that is most of giveUpAfter is not told', status(503, 40), []],
  ['a pause after a refusal because of too many is told', status(429, 20), [20]],
  ['a wait for which the service has not asked is told too', status(503), [0]],
])('%s', async (_, failure, told) => {
  const { loop } = createLoop(60);
  const times: number[] = [];
  const paused = (time: number) => {
    times.push(time);
    throw new Error('taken back');
  };
  const { attempt, attempts } = failing(failure);
  const call = { operation: 'upload', path: '/x', request: 'POST http://x/x', facts: {} } as const;
  const ended = loop.run(call, attempt, noSignal, { paused });
  await (told.length > 0 ? expect(ended).rejects.toThrow('taken back') : expect(ended).resolves.toBe('done'));
  expect(times).toEqual(told);
  expect(attempts()).toBe(told.length > 0 ? 1 : 2);
});
