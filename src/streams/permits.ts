/**
 * Permits for things that stay open longer than one call, such as folios at the service. First come, first served.
 *
 * p-limit counts and queues. It holds a slot while a function runs, so a permit is a function that runs until the
 * permit is released; waiting that an abort ends, and permits that are never released, are added here.
 */
import pLimit from 'p-limit';

export interface Permits {
  /**
   * Waits for a permit, which is then held under this number.
   * @returns false if no permit can become free again, because all are kept.
   * @throws the signal's reason if that aborts first.
   */
  acquire(holder: number, signal: AbortSignal): Promise<boolean>;
  /** Releases the number's permit; does nothing if it has none. */
  release(holder: number): void | Promise<void>;
  /** Makes the number's permit permanent, because what it stands for stays open; does nothing if it has none. */
  keep(holder: number): void | Promise<void>;
}

export function createPermits(count: number): Permits {
  const limit = pLimit(count);
  const held = new Map<number, () => void>();
  const waiting = new Set<() => void>();
  let kept = 0;

  return {
    acquire: (holder, signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        if (kept === count) return resolve(false);
        let settled = false;
        const settle = (end: () => void) => {
          settled = true;
          signal.removeEventListener('abort', abort);
          waiting.delete(refuse);
          end();
        };
        const abort = () => settle(() => reject(signal.reason));
        const refuse = () => settle(() => resolve(false));
        signal.addEventListener('abort', abort, { once: true });
        waiting.add(refuse);
        void limit(() => {
          if (settled) return Promise.resolve();
          settle(() => resolve(true));
          return new Promise<void>((release) => held.set(holder, release));
        });
      }),
    release: (holder) => {
      held.get(holder)?.();
      held.delete(holder);
    },
    keep: (holder) => {
      if (!held.delete(holder)) return;
      kept += 1;
      if (kept === count) for (const refuse of waiting) refuse();
    },
  };
}
