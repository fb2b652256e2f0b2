/** The slots of an account as the database gives them (src/checkpoint/postgres/account/slots.ts), by a clock of its own. */
import type { Clock } from '../../../src/streams/clock.js';
import type { RequestSlots } from '../../../src/streams/request-slots.js';
import { noSignal } from './test-client.js';

const never = Number.NEGATIVE_INFINITY;

/** @param travel how long a question, or an answer, is on its way, in ms. */
export function createSlotAccount(clock: Clock, perSecond: number, travel = () => 0) {
  const now = () => 1_000_000 + 1.0004 * clock.now();
  const most = Math.ceil(perSecond);
  let slots: number[] = [];
  let pausedUntil = never;
  const hearers = new Set<(time: number) => void>();
  let taken = 0;
  const account: RequestSlots = {
    take: async ({ count: asked, span, lasts, lastsAlone, unused, onSend }) => {
      const count = Math.min(asked, most);
      onSend();
      await clock.sleep(travel(), noSignal);
      const receivedAt = now();
      const whole = (span * most) / perSecond;
      const apart = span / perSecond / 2;
      const counting = slots.filter((end) => end + whole > receivedAt);
      const spare = Math.max(...counting.filter((end) => unused.includes(end) && end <= receivedAt));
      const kept = counting.filter((end) => !unused.includes(end)).sort((a, b) => a - b);
      const isFull = kept.length + count > most;
      const length = lasts + (lastsAlone - lasts) * Math.max(1 - (kept.length + count) / most, 0);
      const at = Math.max(receivedAt, pausedUntil) + length;
      const isExchange = count === 1 && spare > never && kept.filter((end) => end > spare).length < most;
      const next = (nth: number) =>
        Math.max(
          at + nth * apart,
          (kept[kept.length + nth - most] ?? never) + whole + length,
          (kept.at(-1) ?? never) + (nth + 1) * apart,
        );
      const ends = Array.from({ length: count }, (_, nth) => (isExchange ? at : next(nth)));
      slots = [...kept, ...ends];
      taken += count;
      await clock.sleep(travel(), noSignal);
      return { ends, lasts: length, isFull, perSecond, receivedAt, answeredAt: receivedAt };
    },
    pause: async (time) => {
      pausedUntil = Math.max(pausedUntil, now() + time);
      for (const hear of hearers) hear(time);
    },
    listen: async (hear) => void hearers.add(hear),
  };
  return { slots: account, taken: () => taken };
}

/** @returns how many of these times, in ms, lie within the second that has most of them. */
export function mostInASecond(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return Math.max(
    ...sorted.map((from) => sorted.filter((time) => time >= from && time < from + 1000).length),
  );
}
