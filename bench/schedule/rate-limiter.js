/** The client's rate limiter (src/api/rate-limiter.ts) on a virtual clock. */
import { RequestWindow } from '../../dist/src/api/rate-limiter.js';

export function createRateLimiter(clock, requestsPerSecond) {
  const window = new RequestWindow(requestsPerSecond);
  const uploads = [];
  const others = [];
  const first = () => [uploads, others].find(({ length }) => length > 0);
  let pausedUntil = 0;
  let opening = false;

  const open = async (signal) => {
    opening = true;
    while (first() !== undefined) {
      const now = clock.now();
      const opensAt = Math.max(pausedUntil, window.free(now) > 0 ? now : window.opensAt());
      if (now < opensAt) {
        await clock.sleep(opensAt - now, signal);
        continue;
      }
      window.record(1, now);
      first().shift()();
    }
    opening = false;
  };

  return {
    wait: (signal, operation) =>
      new Promise((start, reject) => {
        (operation === 'upload' ? uploads : others).push(start);
        if (!opening) open(signal).catch(reject);
      }),
    pause: (time) => {
      pausedUntil = Math.max(pausedUntil, clock.now() + time);
    },
  };
}
