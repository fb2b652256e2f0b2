/**
 * Posts one JSON object to an address that is not the service's, such as a webhook. Follows no redirect. The address is
 * secret: messages show only its origin.
 */
import pRetry from 'p-retry';
import { formatDuration } from '../quantities.js';
import { systemClock } from '../streams/clock.js';
import { withTimeLimit } from '../streams/time-limit.js';
import type { Milliseconds } from '../types.js';
import { retryAfterOf } from './error-reply.js';
import { AttemptError, isBusy, isRedirect } from './failure.js';
import { openHttpClient, type Proxies } from './http-client.js';
import { isSuccess } from './send-request.js';
import { openAwakeClock } from './timeout.js';

interface PostOptions {
  readonly address: { reveal(): string };
  /** Sent as `Idempotency-Key`, the same on each try. */
  readonly id: string;
  readonly body: string;
  readonly proxies: Proxies;
  readonly times: PostTimes;
  /** Ends the tries early when it aborts. */
  readonly signal: AbortSignal;
  /** Called before the first retry, with why it is needed: a person may be waiting. */
  readonly onRetry?: (why: string) => void;
}

export interface PostTimes {
  /** Longest time of one try. */
  readonly attempt: Milliseconds;
  /** No try begins after this time, and none lasts beyond it. */
  readonly all: Milliseconds;
  /** The wait before the first retry; it doubles with each one. As long as `all`: one try, and no wait after it. */
  readonly firstRetry: Milliseconds;
}

/** @throws Error with one line that says why the last try failed. Any 2xx is a success; its body is not read. */
export async function postJson(options: PostOptions): Promise<void> {
  const { address, id, body, proxies, times, signal, onRetry } = options;
  const url = new URL(address.reveal());
  const clock = openAwakeClock(() => undefined);
  const client = openHttpClient({
    connectTimeout: times.attempt,
    idleTimeout: times.attempt,
    clock,
    proxies,
    show: (text) => text.replaceAll(url.href, url.origin).replaceAll(`${url.pathname}${url.search}`, '/'),
  });
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': 'foliopipe',
    'idempotency-key': id,
  };
  const end = Date.now() + times.all;
  let last = NO_TRY;

  /** @returns how long the address asks to wait; null if it does not say; undefined after a success. */
  const tryOnce = async (one: AbortSignal, stop: AbortSignal): Promise<Milliseconds | null | undefined> => {
    const request = { method: 'POST', url, headers, body, headersTimeout: times.attempt } as const;
    try {
      const reply = await client.send(request, one);
      reply.discard();
      const { status } = reply;
      if (isSuccess(status)) return undefined;
      last = isRedirect(status) ? `it redirects (HTTP ${status})` : `HTTP ${status}`;
      if (!isBusy(status)) throw new FinalError(last);
      return retryAfterOf(reply);
    } catch (error) {
      if (error instanceof FinalError) throw error;
      // A try that is cut off says less than the one before it.
      if (!stop.aborted || last === NO_TRY) last = messageOf(error, one, options);
      if (error instanceof AttemptError && error.failure.kind === 'misconfigured') throw new FinalError(last);
      return null;
    }
  };
  const attempt = async (stop: AbortSignal): Promise<void> => {
    const wait = await withTimeLimit(stop, times.attempt, (one) => tryOnce(one, stop));
    if (wait === undefined) return;
    if (wait !== null && Date.now() + wait > end)
      throw new FinalError(`${last}, to be tried in ${formatDuration(wait)}`);
    if (wait !== null) await pause(wait, stop);
    throw new Error(last);
  };
  const isRetried = (error: Error) => !(error instanceof FinalError) && times.firstRetry < times.all;
  try {
    await withTimeLimit(signal, times.all, (stop) =>
      pRetry(() => attempt(stop), {
        retries: Number.POSITIVE_INFINITY,
        minTimeout: times.firstRetry,
        maxTimeout: times.attempt,
        maxRetryTime: times.all,
        randomize: true,
        signal: stop,
        shouldRetry: ({ error }) => isRetried(error),
        onFailedAttempt: ({ error, attemptNumber }) => {
          if (attemptNumber === 1 && isRetried(error)) onRetry?.(last);
        },
      }),
    );
  } catch (error) {
    if (error instanceof FinalError) throw error;
    throw new Error(signal.aborted ? `${last}; stopped by a signal` : last);
  } finally {
    client.close();
    clock.close();
  }
}

const NO_TRY = 'no try was made';

/** A retry would end in the same way. */
class FinalError extends Error {}

function messageOf(error: unknown, one: AbortSignal, { signal, times }: PostOptions): string {
  if (one.aborted) return signal.aborted ? 'no reply' : `no reply within ${formatDuration(times.attempt)}`;
  return error instanceof AttemptError ? error.failure.message : 'it cannot be sent';
}

/** Ends early, without an error, when the signal aborts. */
async function pause(time: Milliseconds, signal: AbortSignal): Promise<void> {
  await systemClock.sleep(time, signal).catch(() => undefined);
}
