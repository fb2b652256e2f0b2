/** The contract of request limiters, for that of one process and for that of an account kept in memory. */
import { afterEach, beforeEach, vi } from 'vitest';
import { RateLimiter } from '../../src/api/rate-limiter.js';
import { SharedLimiter } from '../../src/api/shared-limiter.js';
import type { Clock } from '../../src/streams/clock.js';
import { createSlotAccount } from '../helpers/api/slot-account.js';
import { requestLimiterContract } from './request-limiter-contract.js';

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'performance'],
  });
});
afterEach(() => void vi.useRealTimers());

const clock: Clock = {
  now: () => performance.now(),
  sleep: (time, signal) =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const timer = setTimeout(resolve, time);
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    }),
};
const pass = async (time: number) => void (await vi.advanceTimersByTimeAsync(time));

requestLimiterContract('of a process', {
  open: async (perSecond) => [new RateLimiter(perSecond)],
  pass,
});
requestLimiterContract('of an account', {
  open: async (perSecond) => {
    const { slots } = createSlotAccount(clock, perSecond, () => 2);
    return [0, 1].map(() => new SharedLimiter(slots, perSecond, clock));
  },
  pass,
});
