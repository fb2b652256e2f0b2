/** The limiter of processes that share an account: its slots, and what becomes of those that are used too late. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SharedLimiter } from '../../src/api/shared-limiter.js';
import type { Clock } from '../../src/streams/clock.js';
import { createSlotAccount, mostInASecond } from '../helpers/api/slot-account.js';
import { noSignal } from '../helpers/api/test-client.js';
import { createVirtualClock } from '../helpers/streams/virtual-clock.js';

/** A process: some requests, each of which may open a connection first. @returns when each was written. */
async function send(limiter: SharedLimiter, clock: Clock, requests: readonly number[]): Promise<number[]> {
  const sent: number[] = [];
  const one = async (connectTime: number) => {
    const written = await limiter.wait(noSignal, connectTime > 0 ? 'upload' : 'track');
    if (connectTime > 0) await clock.sleep(connectTime, noSignal);
    await written();
    sent.push(clock.now());
    void written(true);
  };
  await Promise.all(requests.map(one));
  return sent;
}

describe('requests of processes that share an account', () => {
  test('are never more than allowed in any second, however late timers, answers and connections are', () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 400 }),
        fc.array(fc.array(fc.constantFrom(0, 0, 0, 5, 120), { minLength: 1, maxLength: 25 }), {
          minLength: 1,
          maxLength: 4,
        }),
        fc.infiniteStream(fc.constantFrom(0, 0, 1, 3, 8, 40, 200)),
        async (perSecond, processes, delays) => {
          const clock = createVirtualClock(0);
          const late = () => delays.next().value as number;
          const lateClock: Clock = {
            now: clock.now,
            sleep: async (time, signal) => {
              await clock.sleep(time + late(), signal);
            },
          };
          const { slots } = createSlotAccount(clock, perSecond, late);
          const sent = await Promise.all(
            processes.map((requests) =>
              send(new SharedLimiter(slots, perSecond, lateClock), clock, requests),
            ),
          );
          expect(sent.flat()).toHaveLength(processes.flat().length);
          expect(mostInASecond(sent.flat())).toBeLessThanOrEqual(perSecond);
        },
      ),
      { numRuns: 40 },
    ));

  test('reach 95 % of the limit together, and a process alone does too', async () => {
    for (const processes of [1, 4]) {
      const clock = createVirtualClock(0);
      const { slots } = createSlotAccount(clock, 20, () => 1);
      const limiters = Array.from({ length: processes }, () => new SharedLimiter(slots, 20, clock));
      await Promise.all(limiters.map((one) => send(one, clock, Array(400 / processes).fill(0))));
      expect(400 / (clock.now() / 1000)).toBeGreaterThan(0.95 * 20);
    }
  });

  test('reach most of a low limit where answers are slow: no slot is shorter than what is unknown of its time', async () => {
    const clock = createVirtualClock(0);
    const { slots } = createSlotAccount(clock, 1, () => 20);
    const limiters = Array.from({ length: 3 }, () => new SharedLimiter(slots, 1, clock));
    await Promise.all(limiters.map((one) => send(one, clock, Array(20).fill(0))));
    expect(60 / (clock.now() / 1000)).toBeGreaterThan(0.85);
  });

  test.each([700, 2000, 6000])('are sent although each answer takes twice %d ms', async (travel) => {
    const clock = createVirtualClock(0);
    const { slots } = createSlotAccount(clock, 20, () => travel);
    const limiter = new SharedLimiter(slots, 20, clock);
    const ended = new AbortController();
    const written = async (): Promise<void> => {
      for (let request = 0; request < 3; request++) {
        const start = await limiter.wait(ended.signal, 'track');
        await start();
        void start(true);
      }
    };
    const late = async () => {
      await clock.sleep(60 * travel, ended.signal);
      throw new Error('nothing is sent');
    };
    await Promise.race([written(), late()]).finally(() => ended.abort());
  });

  test('take their turns, however many a process has', async () => {
    const clock = createVirtualClock(0);
    const { slots } = createSlotAccount(clock, 20, () => 1);
    const many = send(new SharedLimiter(slots, 20, clock), clock, Array(50).fill(0));
    const few = await send(new SharedLimiter(slots, 20, clock), clock, Array(5).fill(0));
    expect(few.at(-1)).toBeLessThan(11 * 53);
    await many;
  });

  test('take blocks where the limit is high, and leave none where others wait', async () => {
    const clock = createVirtualClock(0);
    const { slots, taken } = createSlotAccount(clock, 1000, () => 1);
    const limiter = new SharedLimiter(slots, 1000, clock);
    for (let request = 0; request < 10; request++) await send(limiter, clock, [0]);
    expect(taken()).toBeLessThanOrEqual(52);
  });

  test('wait in every process while a pause lasts, and nothing is begun within it', async () => {
    const clock = createVirtualClock(0);
    const { slots } = createSlotAccount(clock, 20, () => 1);
    const [one, other] = [new SharedLimiter(slots, 20, clock), new SharedLimiter(slots, 20, clock)];
    const before = send(other, clock, Array(40).fill(0));
    await clock.sleep(500, noSignal);
    one.pause(3000);
    const sent = [...(await before), ...(await send(one, clock, [0, 120]))];
    expect(sent.filter((time) => time > 501 && time < 3500)).toEqual([]);
    expect(mostInASecond(sent)).toBeLessThanOrEqual(20);
    one.pause(1000);
    const paused = clock.now();
    await other.ready(noSignal);
    expect(clock.now() - paused).toBeGreaterThanOrEqual(1000);
  });

  test('end with the reason of an abort, and with the error of the database', async () => {
    const clock = createVirtualClock(0);
    const { slots } = createSlotAccount(clock, 1);
    const limiter = new SharedLimiter(slots, 1, clock);
    await send(limiter, clock, [0]);
    const controller = new AbortController();
    const waiting = limiter.wait(controller.signal, 'track');
    controller.abort(new Error('stop'));
    await expect(waiting).rejects.toThrow('stop');
    const lost = async () => {
      throw new Error('lost');
    };
    await expect(
      new SharedLimiter({ ...slots, take: lost }, 1, clock).wait(noSignal, 'track'),
    ).rejects.toThrow('lost');
  });
});
