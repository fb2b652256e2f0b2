/**
 * Runs the attempts of a call over p-retry, which counts the back-off and waits. Around it, by hand: the rate limiter
 * before each attempt, and the decision when a call has failed for too long. That time is kept for each operation, not
 * for each call as p-retry's `maxRetryTime` is, so that the next call in an outage does not wait as long again.
 */
import pRetry from 'p-retry';
import type { Logger } from '../logger.js';
import { formatDuration } from '../quantities.js';
import { MalformedReplyError } from '../streams/malformed-reply-error.js';
import type { Milliseconds } from '../types.js';
import { AttemptError, type Failure, type Operation } from './failure.js';
import { type Call, callFacts, describeFailure, finalError } from './final-error.js';
import type { RequestLimiter } from './rate-limiter.js';
import { decideRetry, isLost, isMissing, type Missing } from './retry-decision.js';
import type { ServiceText } from './service-text.js';

/** The part of a logger that the client uses. */
export type ApiLogger = Pick<Logger, 'debug' | 'info' | 'warn'>;

export interface RetryTimes {
  /** Back-off before the second attempt; it doubles with each one, randomized. */
  readonly first: Milliseconds;
  readonly max: Milliseconds;
  /** An outage longer than this ends the call. */
  readonly giveUpAfter: Milliseconds;
}

export interface RetryLoopOptions {
  readonly limiter: RequestLimiter;
  readonly retry: RetryTimes;
  /** How long the service must keep saying that something does not exist before it counts as lost. */
  readonly lostAfter: Milliseconds;
  readonly logger: ApiLogger;
  readonly show: ServiceText;
}

/** How a call ended: with a value, or with the error to throw. */
type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/** What the attempts of one call have shown so far. */
interface CallState {
  failingSince: number | null;
  missing: { readonly since: number; readonly times: number } | null;
  /** The service named the time to wait: the rate limiter waits for exactly that long, without a back-off. */
  skipsBackOff: boolean;
}

export class RetryLoop {
  readonly #options: RetryLoopOptions;
  readonly #outages = new Map<Operation, Outage>();

  constructor(options: RetryLoopOptions) {
    this.#options = options;
  }

  /**
   * Makes attempts until one ends the call. Their number is not bounded, but their time is. An attempt that failed
   * throws `AttemptError` or `MalformedReplyError`; any other error ends the call as it is.
   * @param until once aborted, a single reply that something is missing ends the call.
   * @throws the errors of `finalError`; the signal's reason, unless the failure means something worse.
   */
  async run<T>(call: Call, attempt: () => Promise<T>, signal: AbortSignal, until?: AbortSignal): Promise<T> {
    const { limiter, retry, show } = this.#options;
    const state: CallState = { failingSince: null, missing: null, skipsBackOff: false };
    let outcome: Outcome<T> | undefined;
    const attemptOnce = async (): Promise<void> => {
      try {
        await limiter.wait(signal);
        outcome = { value: await attempt() };
        this.#outage(call.operation).recordSuccess(performance.now());
      } catch (error) {
        const failure = failureOf(error, show);
        const isLast = until?.aborted === true;
        outcome = failure === undefined ? { error } : this.#judge(call, failure, state, signal, isLast);
        if (outcome === undefined) throw error;
      }
    };
    try {
      await pRetry(attemptOnce, {
        retries: Number.POSITIVE_INFINITY,
        minTimeout: retry.first,
        maxTimeout: retry.max,
        randomize: true,
        signal,
        shouldConsumeRetry: () => !state.skipsBackOff,
      });
    } catch (error) {
      // p-retry throws away a value that comes together with an abort; it may be a folio that is paid for.
      if (outcome === undefined) throw error;
    }
    if (outcome !== undefined && 'value' in outcome) return outcome.value;
    throw outcome?.error;
  }

  /**
   * @param isLast whether the caller waits for no further reply that something is missing.
   * @returns the error that ends the call, or undefined for another attempt.
   */
  #judge(
    call: Call,
    failure: Failure,
    state: CallState,
    signal: AbortSignal,
    isLast: boolean,
  ): { readonly error: unknown } | undefined {
    const { limiter, retry, lostAfter, logger } = this.#options;
    const { operation } = call;
    const now = performance.now();
    const missing = countMissing(state, failure, now);
    const decision = decideRetry(operation, failure, isLast || isLost(missing, lostAfter));
    if (decision.kind !== 'retry') return { error: finalError(decision.kind, failure, call) };
    if (signal.aborted) return { error: signal.reason };

    const facts = callFacts(call, failure);
    const message = describeFailure(failure);
    logger.debug(facts, `${operation} failed and is tried again: ${message}`);
    if (isMissing(failure)) {
      if (missing.times === 1) {
        logger.warn(facts, `${operation}: ${message}; this is tried again for ${formatDuration(lostAfter)}`);
      }
      // A service that says so is up.
      this.#outage(operation).recordSuccess(now);
      state.failingSince = null;
      state.skipsBackOff = false;
      return undefined;
    }
    state.failingSince ??= now;
    const since = this.#outage(operation).recordFailure(now, facts, message);
    if (now - Math.min(since, state.failingSince) >= retry.giveUpAfter) {
      return { error: finalError('gave-up', failure, call) };
    }
    if (decision.after !== null) limiter.pause(Math.min(decision.after, retry.giveUpAfter));
    state.skipsBackOff = decision.after !== null && decision.after >= retry.first;
    return undefined;
  }

  #outage(operation: Operation): Outage {
    const { logger, retry } = this.#options;
    const outage = this.#outages.get(operation) ?? new Outage(operation, logger, retry.giveUpAfter);
    this.#outages.set(operation, outage);
    return outage;
  }
}

/**
 * Counts the replies of this call that something is missing. A failure between them (a cut connection, a proxy's page)
 * says nothing about the folio, so it does not reset the count.
 */
function countMissing(state: CallState, failure: Failure, now: number): Missing {
  const { since, times } = state.missing ?? { since: now, times: 0 };
  if (!isMissing(failure)) return { times, lasting: now - since };
  state.missing = { since, times: times + 1 };
  return { times: times + 1, lasting: now - since };
}

function failureOf(error: unknown, show: ServiceText): Failure | undefined {
  if (error instanceof AttemptError) return error.failure;
  if (error instanceof MalformedReplyError) return { kind: 'malformed', message: show(error.message) };
  return undefined;
}

const LOG_INTERVAL: Milliseconds = 60_000;

/**
 * How long one operation has been failing, over all its calls. Logs an outage when it begins, once a minute, and when
 * it is over. The caller gives the times, all on one steady clock.
 */
export class Outage {
  readonly #operation: Operation;
  readonly #logger: ApiLogger;
  /** A failure that comes this long after the previous one begins a new outage. */
  readonly #forgetAfter: Milliseconds;
  #since: number | null = null;
  #lastFailureAt = 0;
  #loggedAt = Number.NEGATIVE_INFINITY;
  #isLogged = false;

  constructor(operation: Operation, logger: ApiLogger, forgetAfter: Milliseconds) {
    this.#operation = operation;
    this.#logger = logger;
    this.#forgetAfter = forgetAfter;
  }

  /** @returns since when the operation has been failing. */
  recordFailure(now: number, facts: object, message: string): number {
    if (this.#since === null || now - this.#lastFailureAt > this.#forgetAfter) this.#since = now;
    this.#lastFailureAt = now;
    if (now - this.#loggedAt >= LOG_INTERVAL) {
      this.#loggedAt = now;
      this.#isLogged = true;
      const seconds = Math.round((now - this.#since) / 1000);
      const lasting = seconds === 0 ? '' : ` (for ${seconds} s)`;
      this.#logger.warn(facts, `${this.#operation} fails and is tried again${lasting}: ${message}`);
    }
    return this.#since;
  }

  recordSuccess(now: number): void {
    if (this.#since !== null && this.#isLogged) {
      const seconds = Math.round((now - this.#since) / 1000);
      const message = `${this.#operation} works again after ${seconds} s`;
      this.#logger.info({ operation: this.#operation, seconds }, message);
      this.#isLogged = false;
    }
    this.#since = null;
  }
}
