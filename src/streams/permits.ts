/**
 * Permits for things that stay open longer than one call, such as folios at the service. First come, first served.
 *
 * p-limit counts and queues. It holds a slot while a function runs, so a permit is a function that runs until the permit
 * is released. This file adds waiting that an abort ends, and permits that are never released.
 */
import pLimit from 'p-limit';

/** How many folios may be open at the service. */
export interface Permits {
  /**
   * Waits for a permit and holds it under this name. A name that holds one already keeps it.
   * @returns false if no permit can become free again, because all are permanent.
   * @throws the signal's reason if it aborts first.
   */
  acquire(holder: string, signal: AbortSignal): Promise<boolean>;
  /** Releases the permit of this name; does nothing if it has none. */
  release(holder: string): void | Promise<void>;
  /** Makes the permit of this name permanent, because its folio stays open; does nothing if it has none. */
  keep(holder: string): void | Promise<void>;
}

/** The name of the permit for a chunk's folio: unique among all runs that share the permits. */
export function permitName(run: string, chunk: number): string {
  return `${run} ${chunk}`;
}

export function createPermits(count: number): Permits {
  const limit = pLimit(count);
  const held = new Map<string, () => void>();
  const waiting = new Set<() => void>();
  let kept = 0;

  return {
    acquire: (holder, signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        if (held.has(holder)) return resolve(true);
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
