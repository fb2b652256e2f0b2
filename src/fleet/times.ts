/** The intervals of a fleet, which all follow from how long a lease lasts; and waits that a signal ends. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { leaseTimes, shortenLeases } from '../checkpoint/postgres/lease.js';
import { ConfigError } from '../errors.js';
import type { Milliseconds } from '../types.js';

export interface FleetTimes {
  /** How often jobs are asked for. */
  readonly take: Milliseconds;
  /** How often a worker reports that it is alive, and looks for silent ones. */
  readonly beat: Milliseconds;
  /** After how long without a sign of life the jobs of a worker are handed out again. */
  readonly silent: Milliseconds;
  /** The first pause before a job is repeated. */
  readonly pause: Milliseconds;
  /** How long to wait for another process that holds the lease. */
  readonly locked: Milliseconds;
}

/** The shortest silence of a worker that pg-boss can notice. */
const LEAST_SILENT_MS = 10_000;

/** With leases of 30 s: 2 s, 5 s, 20 s, 30 s and 15 s. */
export function fleetTimes(): FleetTimes {
  const { lease } = leaseTimes();
  return {
    take: lease / 15,
    beat: lease / 6,
    silent: Math.max((lease * 2) / 3, LEAST_SILENT_MS),
    pause: lease,
    locked: lease / 2,
  };
}

/**
 * Makes leases shorter, for proofs that wait for their ends.
 * @param text milliseconds.
 * @throws ConfigError `USAGE` for anything but a time from 3 to 30 seconds.
 */
export function useLeases(text: string): void {
  const lease = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(lease >= 3_000 && lease <= 30_000)) {
    throw new ConfigError('USAGE', `FOLIOPIPE_LEASE_MS cannot be ${text}`, { hint: 'write 3000 to 30000' });
  }
  shortenLeases(lease);
}

/** A lasting problem is logged again after the first interval, then after twice as long, up to the last one. */
const FIRST_LOG_INTERVAL_MS = 30_000;
const LAST_LOG_INTERVAL_MS = 15 * 60_000;

/** @returns a function that is called whenever the same problem occurs again, and says whether to log it now. */
export function createLogBackoff(): () => boolean {
  let next = Number.NEGATIVE_INFINITY;
  let pause = FIRST_LOG_INTERVAL_MS / 2;
  return () => {
    const now = performance.now();
    if (now < next) return false;
    pause = Math.min(pause * 2, LAST_LOG_INTERVAL_MS);
    next = now + pause;
    return true;
  };
}

/** Waits for this time, or until the signal aborts. */
export async function pause(time: Milliseconds, signal: AbortSignal): Promise<void> {
  await sleep(time, undefined, { signal }).catch(() => undefined);
}

/**
 * Waits for work until the signal.
 * @param stopped what to wait for as well once the signal has aborted. Its own signal aborts when it is not needed.
 * @returns the result of the one that ends first.
 */
export async function untilStopped<T, Instead>(
  work: Promise<T>,
  signal: AbortSignal,
  stopped: (settled: AbortSignal) => Instead | Promise<Instead>,
): Promise<T | Instead> {
  const settled = new AbortController();
  const instead = async () => {
    if (!signal.aborted) await once(signal, 'abort', { signal: settled.signal });
    return stopped(settled.signal);
  };
  try {
    return await Promise.race([work, instead()]);
  } finally {
    settled.abort();
  }
}
