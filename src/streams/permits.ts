/** Permits for things that stay open longer than one call, such as folios at the service; FIFO over p-limit. */
import pLimit from 'p-limit';

export interface Permits {
  /**
   * Waits for a permit and keeps it under this number.
   * @returns false where none will ever be free again, since all are kept for good.
   * @throws the signal's reason when that aborts first.
   */
  acquire(holder: number, signal: AbortSignal): Promise<boolean>;
  /** Gives the number's permit back; without one it does nothing. */
  release(holder: number): void | Promise<void>;
  /** Never gives the number's permit back: what it stands for stays open. Without one it does nothing. */
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
