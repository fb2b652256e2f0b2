/** The client's rate limiter (src/api/rate-limiter.ts) on a virtual clock. */

export function createRateLimiter(clock, requestsPerSecond) {
  const interval = 1000 / requestsPerSecond;
  let waiters = [];
  let head = 0;
  let opensAt = 0;
  let opening = false;

  const open = async (signal) => {
    opening = true;
    while (head < waiters.length) {
      while (clock.now() < opensAt) await clock.sleep(opensAt - clock.now(), signal);
      opensAt = clock.now() + interval;
      waiters[head++]();
    }
    waiters = [];
    head = 0;
    opening = false;
  };

  return {
    wait: (signal) =>
      new Promise((resolve, reject) => {
        waiters.push(resolve);
        if (!opening) open(signal).catch(reject);
      }),
    pause: (time) => {
      opensAt = Math.max(opensAt, clock.now() + time);
    },
  };
}
