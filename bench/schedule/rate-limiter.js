/** The client's rate limiter (src/api/rate-limiter.ts) on a virtual clock. */
import { RequestWindow } from '../../dist/src/api/request-window.js';

export function createRateLimiter(clock, requestsPerSecond) {
  const window = new RequestWindow(requestsPerSecond);
  const waiters = [];
  let pausedUntil = 0;
  let opening = false;

  const open = async (signal) => {
    opening = true;
    while (waiters.length > 0) {
      const now = clock.now();
      const opensAt = Math.max(pausedUntil, window.free(now) > 0 ? now : window.opensAt());
      if (now < opensAt) {
        await clock.sleep(opensAt - now, signal);
        continue;
      }
      window.record(1, now);
      waiters.shift().start();
    }
    opening = false;
  };

  return {
    wait: (signal, patience = 0) =>
      new Promise((start, reject) => {
        const due = clock.now() + patience;
        const before = waiters.findLastIndex((waiter) => waiter.due <= due);
        waiters.splice(before + 1, 0, { due, start });
        if (!opening) open(signal).catch(reject);
      }),
    pause: (time) => {
      pausedUntil = Math.max(pausedUntil, clock.now() + time);
    },
  };
}
