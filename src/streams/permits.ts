/** Permits for things that stay open longer than one call, such as folios at the service; FIFO over p-limit. */
import pLimit from 'p-limit';

export interface Permits {
  /** Waits for a permit and keeps it under this number. Throws the signal's reason when that aborts first. */
  acquire(holder: number, signal: AbortSignal): Promise<void>;
  /** Gives the number's permit back; without one it does nothing. */
  release(holder: number): void;
}

export function createPermits(count: number): Permits {
  const limit = pLimit(count);
  const held = new Map<number, () => void>();

  return {
    acquire: (holder, signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        const abort = () => reject(signal.reason);
        signal.addEventListener('abort', abort, { once: true });
        const hold = () => {
          signal.removeEventListener('abort', abort);
          if (signal.aborted) return Promise.resolve();
          return new Promise<void>((release) => {
            held.set(holder, release);
            resolve();
          });
        };
        void limit(hold);
      }),
    release: (holder) => {
      held.get(holder)?.();
      held.delete(holder);
    },
  };
}
