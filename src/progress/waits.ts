/** Remembers what a job waits for, and reports each wait that begins. */
import type { Milliseconds } from '../types.js';
import type { OnProgress, Wait } from './events.js';

export interface Waits {
  /** The service has named a time before which no request may be sent. */
  throttled(time: Milliseconds, why: string): void;
  /**
   * A request fails and is tried again.
   * @param operation the kind of the request.
   * @param lasting for how long it has been failing.
   * @param left for how much longer it is tried.
   */
  failing(operation: string, lasting: Milliseconds, left: Milliseconds, why: string): void;
  /** Requests of this kind work again. */
  works(operation: string): void;
  /** The current waits, the oldest first. */
  list(): readonly Wait[];
}

/** @param now epoch milliseconds. */
export function createWaits(emit: OnProgress | undefined, now: () => number): Waits {
  const waits = new Map<string, Wait>();
  const begin = (key: string, wait: Wait) => {
    const isNew = !waits.has(key);
    waits.set(key, wait);
    if (isNew) emit?.({ type: 'waiting', ...wait });
  };
  const dropPast = () => {
    for (const [key, wait] of waits) if (wait.on === 'throttle' && wait.until <= now()) waits.delete(key);
  };
  return {
    throttled: (time, why) => {
      dropPast();
      const before = waits.get(throttle);
      const until = Math.max(now() + time, before?.until ?? 0);
      begin(throttle, { on: 'throttle', since: before?.since ?? now(), until, why });
    },
    failing: (operation, lasting, left, why) => {
      const at = now();
      begin(operation, { on: 'outage', since: at - lasting, until: at + Math.max(left, 0), why });
    },
    works: (operation) => void waits.delete(operation),
    list: () => {
      dropPast();
      return [...waits.values()].sort((a, b) => a.since - b.since);
    },
  };
}

/** The key of a throttle. It differs from all names of operations, which have no blank in them. */
const throttle = 'all requests';
