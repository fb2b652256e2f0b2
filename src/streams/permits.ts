/**
 * Permits for things that stay open longer than one call, such as folios at the service. First come, first served.
 *
 * p-limit counts and queues. It holds a slot while a function runs, so a permit is a function that runs until the permit
 * is released. This file adds waiting that an abort ends, permits that are never released, and fewer permits where the
 * service refuses to open as many.
 */
import pLimit from 'p-limit';
import type { Milliseconds } from '../types.js';
import { OpenLimit } from './open-limit.js';

/** How many folios may be open at the service. */
export interface Permits {
  /**
   * Waits for a permit and holds it under this name. A name that holds one already keeps it.
   * @returns false if no permit can become free again, because all are permanent; `doubtful` if chunks whose upload is
   *   in doubt hold all permits of this run that could become free.
   * @throws the signal's reason if it aborts first.
   */
  acquire(holder: string, signal: AbortSignal): Promise<Acquired>;
  /** Releases the permit of this name; does nothing if it has none. */
  release(holder: string): void | Promise<void>;
  /** Makes the permit of this name permanent, because its folio stays open; does nothing if it has none. */
  keep(holder: string): void | Promise<void>;
  /** Takes note that the service has opened the folio of this name. A source of permits that learns nothing lacks it. */
  opened?(holder: string): void | Promise<void>;
  /**
   * Takes note that the service has refused to open the folio of this name, because too many are open (429).
   * @returns whether to ask it again as soon as it allows; otherwise the holder must release its permit, and may wait for
   *   another one.
   */
  refused?(holder: string): boolean | Promise<boolean>;
  /** How all processes together use the permits. Without it, nothing else uses the permits. */
  shared?(): SharedUse;
}

/** How permits are used by all that share them. */
export interface SharedUse {
  /** How many are open, or will be at once. */
  readonly open: number;
  /** Whether others wait for one. */
  readonly isAwaited: boolean;
}

/** How a wait for a permit has ended, see `Permits.acquire`. */
export type Acquired = boolean | 'doubtful';

/** The name of the permit for a chunk's folio: unique among all runs that share the permits. */
export function permitName(run: string, chunk: number): string {
  return `${run} ${chunk}`;
}

/** The chunk of such a name. */
export function parsePermitName(name: string): { readonly run: string; readonly chunk: number } {
  const at = name.lastIndexOf(' ');
  return { run: name.slice(0, at), chunk: Number(name.slice(at + 1)) };
}

interface Held {
  readonly release: () => void;
  /** `asked`: it is not known yet whether the service opens its folio. */
  state: 'asked' | 'open' | 'refused';
}

/**
 * @param now a monotonic clock, in ms.
 * @param onLimit called when another limit is learned from the service.
 */
export function createPermits(
  count: number,
  now: () => Milliseconds = () => performance.now(),
  onLimit: (limit: number) => void = () => undefined,
): Permits {
  const limit = pLimit(count);
  const open = new OpenLimit(count);
  const held = new Map<string, Held>();
  const waiting = new Set<() => void>();
  /** The holder that asks the service again after a refusal; no other one asks meanwhile. */
  let asking: string | undefined;
  let kept = 0;
  let reported = count;

  const update = () => {
    limit.concurrency = asking === undefined ? Math.max(open.limit - kept, 1) : 1;
    if (kept >= open.limit) for (const refuse of waiting) refuse();
    if (open.limit === reported) return;
    reported = open.limit;
    onLimit(reported);
  };
  /** Ends the permit of this name. */
  const end = (holder: string, before: (one: Held) => void) => {
    const one = held.get(holder);
    if (one === undefined) return;
    held.delete(holder);
    if (asking === holder) asking = undefined;
    before(one);
    update();
    one.release();
  };

  return {
    acquire: (holder, signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        if (held.has(holder)) return resolve(true);
        if (kept >= open.limit) return resolve(false);
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
          return new Promise<void>((release) => held.set(holder, { release, state: 'asked' }));
        });
      }),
    release: (holder) =>
      end(holder, ({ state }) => {
        if (state === 'open') open.ended(now());
      }),
    keep: (holder) =>
      end(holder, () => {
        kept += 1;
      }),
    opened: (holder) => {
      const one = held.get(holder);
      if (one?.state === 'open' || one === undefined) return;
      one.state = 'open';
      if (asking === holder) asking = undefined;
      open.accepted(kept + [...held.values()].filter(({ state }) => state === 'open').length);
      update();
    },
    refused: (holder) => {
      const one = held.get(holder);
      if (one === undefined) return true;
      one.state = 'refused';
      // Other refusals at the same time say nothing new.
      if (asking !== undefined && asking !== holder) return false;
      const others = kept + [...held.values()].filter(({ state }) => state !== 'refused').length;
      open.refused(others, now());
      // Without an open folio that can end, only the service can be waited for.
      const asksAgain = others < open.limit || others === kept;
      asking = asksAgain ? holder : undefined;
      if (asksAgain) one.state = 'asked';
      update();
      return asksAgain;
    },
  };
}
