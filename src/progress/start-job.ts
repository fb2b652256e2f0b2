/**
 * Makes a job of work: a promise of its result that is also an async iterable of its events. Invariant: an error reaches
 * whoever consumes the promise or the events, and is unhandled only if nobody consumes either.
 */
import type { Logger } from '../logger.js';
import { withStopErrors } from '../streams/abortable.js';
import type { JobEvent, OnProgress } from './events.js';
import { guardListeners } from './guard-listeners.js';

/**
 * A job that has begun: `await` gives its result, `for await` its events.
 *
 * The iteration ends when the job has ended, and throws its error. A consumer that is slower than the job misses
 * events: only the latest one of each type is kept. Leaving the loop only stops listening; the job goes on, and can
 * still be awaited.
 */
export type Job<Result> = Promise<Result> & AsyncIterable<JobEvent>;

/** The options that every job has. */
export interface JobOptions {
  readonly signal?: AbortSignal | undefined;
  readonly logger?: Logger | undefined;
  readonly onProgress?: OnProgress | undefined;
}

/**
 * Starts the work at once.
 * @param check throws if the arguments are wrong: the job then ends with that error, and no work begins.
 * @param work gets the options, with a signal whose reason is always a FoliopipeError, and with the place for its events.
 */
export function startJob<Options extends JobOptions, Result>(
  handed: Options,
  work: (
    options: Options & { readonly onProgress: OnProgress; readonly signal: AbortSignal },
  ) => Promise<Result>,
  check: () => void = () => undefined,
): Job<Result> {
  const refused = thrownBy(check);
  const options = refused === undefined ? handed : ({} as Options);
  const latest = new Map<JobEvent['type'], { readonly event: JobEvent; readonly number: number }>();
  const listeners = new Set<() => void>();
  const safe = guardListeners(options);
  const { onProgress } = safe;
  let count = 0;
  let isEnded = false;

  const emit = (event: JobEvent) => {
    count += 1;
    latest.set(event.type, { event, number: count });
    onProgress?.(event);
    for (const wake of listeners) wake();
  };
  const isHeard = () => listeners.size > 0 || (onProgress !== undefined && onProgress.isHeard?.() !== false);
  const given = { ...safe, onProgress: Object.assign(emit, { isHeard }) };
  const job = withStopErrors(options.signal, (signal) =>
    refused === undefined ? work({ ...given, signal }) : Promise.reject(refused.error),
  ).finally(() => {
    isEnded = true;
    // The loops that are open now throw the error.
    if (listeners.size > 0) job.catch(() => undefined);
    for (const wake of listeners) wake();
  });

  async function* events(): AsyncGenerator<JobEvent, void, undefined> {
    let seen = 0;
    let wake: () => void = () => undefined;
    const listener = () => wake();
    listeners.add(listener);
    try {
      for (;;) {
        const next = [...latest.values()]
          .filter(({ number }) => number > seen)
          .sort((a, b) => a.number - b.number)[0];
        if (next !== undefined) {
          seen = next.number;
          yield next.event;
        } else if (isEnded) {
          await job;
          return;
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      listeners.delete(listener);
    }
  }
  return Object.assign(job, { [Symbol.asyncIterator]: events });
}

function thrownBy(check: () => void): { readonly error: unknown } | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return { error };
  }
}
