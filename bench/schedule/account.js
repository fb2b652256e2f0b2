/** An account of many pipelines on a virtual clock: the client's real waiting, with tables in memory that count questions. */
import { SharedLimiter } from '../../dist/src/api/shared-limiter.js';
import { createSharedPermits } from '../../dist/src/streams/shared-permits.js';

const never = new AbortController().signal;

/** @param clock of all pipelines. */
export function createModelledAccount(clock, { folios, perSecond }) {
  /** Sleeps that nobody waits for any more end by themselves: finding them among thousands would take longer. */
  const own = { now: clock.now, sleep: (time) => clock.sleep(time, never) };
  const asked = { asks: 0, frees: 0, slots: 0 };
  /** The pipelines that wait, in order. */
  const line = new Map();
  let open = 0;
  let next = 0;
  const call = (count) => {
    for (const hear of [...line.values()].slice(0, count)) hear();
  };

  const tableOf = (pipeline) => {
    let hear = () => undefined;
    return {
      listen: async (callback) => {
        hear = callback;
      },
      ask: async (holders) => {
        asked.asks += 1;
        const place = [...line.keys()].indexOf(pipeline);
        const ahead = place === -1 ? line.size : place;
        const others = line.size - (place === -1 ? 0 : 1);
        const room = folios - open;
        const share = Math.max(1, Math.floor((room - ahead) / (others + 1)));
        const permits = room > ahead ? Math.min(holders.length, share) : 0;
        open += permits;
        if (permits > 0) line.delete(pipeline);
        if (permits < holders.length && !line.has(pipeline)) line.set(pipeline, () => hear());
        call(folios - open);
        const learns = { opened: false, ended: false };
        const granted = holders.slice(0, permits);
        // As src/checkpoint/postgres/account/permits.ts has it.
        const patience = ahead < 2 ? 2000 : Math.min(15_000 + ahead * 125, 120_000);
        return {
          granted,
          limit: folios,
          open,
          admitted: null,
          others,
          ahead,
          patience,
          own: 1,
          doubtful: 0,
          learns,
        };
      },
      free: async () => {
        asked.frees += 1;
        call(1);
      },
    };
  };
  const slots = {
    listen: async () => undefined,
    pause: async () => undefined,
    take: async ({ count, span, lasts, onSend }) => {
      onSend();
      asked.slots += 1;
      const now = clock.now();
      next = Math.max(next, now) + (count * span) / perSecond;
      const ends = Array.from(
        { length: count },
        (_, nth) => next + lasts + ((nth - count) * span) / perSecond,
      );
      return { ends, lasts, isFull: next > now, perSecond, receivedAt: now, answeredAt: now };
    },
  };

  return {
    asked,
    waiting: () => line.size,
    /** The limits for one pipeline, and a function that must be called when one of its folios is finished. */
    join: (pipeline) => {
      const limiter = new SharedLimiter(slots, perSecond, own);
      return {
        permits: createSharedPermits(tableOf(pipeline), { clock: own }),
        limiter: {
          wait: async (signal) => (await limiter.wait(signal))(),
          pause: (time) => limiter.pause(time),
        },
        finished: () => {
          open -= 1;
        },
      };
    },
  };
}
