/**
 * Runs the attempts of a call with p-retry, which waits between them. This file waits for the rate limiter before each
 * attempt, and decides when to give up. It measures the time of an outage for each operation. p-retry's `maxRetryTime`
 * would measure it for each call, and each call in an outage would wait as long again.
 */
import pRetry from 'p-retry';
import type { Logger } from '../logger.js';
import { formatDuration } from '../quantities.js';
import type { Milliseconds } from '../types.js';
import { type Failure, failureOf } from './failure.js';
import { type Call, callFacts, describeFailure, finalError } from './final-error.js';
import { Outage } from './outage.js';
import type { UploadRequest } from './prediction-api.js';
import type { RequestLimiter, Written } from './rate-limiter.js';
import type { Operation } from './requests.js';
import { decideRetry, isConclusive, isMissing, type SameReplies } from './retry-decision.js';
import type { ServiceText } from './service-text.js';
import type { AwakeClock } from './timeout.js';

/** The part of a logger that the client uses. */
export type ApiLogger = Pick<Logger, 'debug' | 'info' | 'warn'>;

/** Observes what the client waits for. */
export interface ApiWatcher {
  /** The service has asked for time: no request starts before it has passed. */
  throttled(time: Milliseconds, why: string): void;
  /** An operation has been failing for `lasting`, and is tried again for `left` more. */
  failing(operation: Operation, lasting: Milliseconds, left: Milliseconds, why: string): void;
  /** The operation has succeeded. */
  works(operation: Operation): void;
}

export interface RetryTimes {
  /** Back-off before the second attempt. It doubles with each attempt and is randomized. */
  readonly first: Milliseconds;
  readonly max: Milliseconds;
  /** An outage longer than this ends the call. */
  readonly giveUpAfter: Milliseconds;
}

interface RetryLoopOptions {
  readonly limiter: RequestLimiter;
  readonly retry: RetryTimes;
  /** How long the service must keep saying that something does not exist before it counts as lost. */
  readonly lostAfter: Milliseconds;
  readonly logger: ApiLogger;
  readonly watcher?: ApiWatcher | undefined;
  readonly show: ServiceText;
  /** Measures outages and missing folios. Time in which this process does not run is not counted. */
  readonly clock: AwakeClock;
}

/** How a call ended: with a value, or with the error to throw. */
type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/** What the attempts of one call have shown so far. */
interface CallState {
  failingSince: number | null;
  missing: { readonly since: number; readonly count: number } | null;
  /** The last way in which the service has broken its interface. */
  broken: { readonly breach: string; readonly since: number; readonly count: number } | null;
  /** The service named the time to wait: the rate limiter waits exactly that long, so there is no back-off. */
  skipsBackOff: boolean;
  /** The time for which the last reply asked; 0 if for none; null if only this call may wait that long. */
  pause: Milliseconds | null;
}

/** What else decides how long a call waits. */
export interface CallWaits extends Pick<UploadRequest, 'refused' | 'paused' | 'begins'> {
  /** After it aborts, a single reply that a folio or part does not exist ends the call. */
  readonly until?: AbortSignal | undefined;
}

export class RetryLoop {
  readonly #options: RetryLoopOptions;
  readonly #outages = new Map<Operation, Outage>();

  constructor(options: RetryLoopOptions) {
    this.#options = options;
  }

  /**
   * Makes attempts until one ends the call. Limits their time, not their number. An attempt that failed throws
   * `AttemptError` or `MalformedReplyError`; any other error ends the call unchanged.
   * @param attempt calls `written` when its request is about to be written, and waits for it.
   * @throws the errors of `finalError`; the signal's reason after an abort, if the failure would allow a retry.
   */
  async run<T>(
    call: Call,
    attempt: (written: Written) => Promise<T>,
    signal: AbortSignal,
    { until, refused, paused }: CallWaits = {},
  ): Promise<T> {
    const { retry, show, clock } = this.#options;
    const state: CallState = {
      failingSince: null,
      missing: null,
      broken: null,
      skipsBackOff: false,
      pause: 0,
    };
    let outcome: Outcome<T> | undefined;
    const attemptOnce = async (): Promise<void> => {
      try {
        outcome = { value: await this.#limited(call.operation, attempt, signal) };
        this.#outages.get(call.operation)?.recordSuccess(clock.now());
        this.#options.watcher?.works(call.operation);
      } catch (error) {
        const failure = failureOf(error, show);
        const isLast = until?.aborted === true;
        outcome = failure === undefined ? { error } : this.#decide(call, failure, state, signal, isLast);
        if (outcome !== undefined) return;
        if (isTooMany(failure)) outcome = await errorOf(refused);
        const { pause } = state;
        if (outcome === undefined && pause !== null) outcome = await errorOf(() => paused?.(pause));
        if (outcome === undefined) throw error;
      }
    };
    try {
      // Uses p-retry only after a failure, because it costs as much as the rest of a call.
      let failed = await errorOf(attemptOnce);
      const next = async (): Promise<void> => {
        const before = failed;
        failed = undefined;
        if (before !== undefined) throw before.error;
        await attemptOnce();
      };
      if (failed !== undefined) {
        await pRetry(next, {
          retries: Number.POSITIVE_INFINITY,
          minTimeout: retry.first,
          maxTimeout: retry.max,
          randomize: true,
          signal,
          shouldConsumeRetry: () => !state.skipsBackOff,
        });
      }
    } catch (error) {
      // p-retry drops a value that arrives together with an abort, but it may be a folio that is paid for.
      if (outcome === undefined) throw error;
    }
    if (outcome !== undefined && 'value' in outcome) return outcome.value;
    throw outcome?.error;
  }

  /** Makes one attempt when the limiter lets it start. */
  async #limited<T>(
    operation: Operation,
    attempt: (written: Written) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const given = await this.#options.limiter.wait(signal, operation);
    const written = typeof given === 'function' ? given : () => undefined;
    try {
      return await attempt(written);
    } finally {
      void written(true);
    }
  }

  /**
   * @param isLast whether this is the last reply about a missing folio or part that the caller waits for.
   * @returns the error that ends the call, or undefined for another attempt.
   */
  #decide(
    call: Call,
    failure: Failure,
    state: CallState,
    signal: AbortSignal,
    isLast: boolean,
  ): { readonly error: unknown } | undefined {
    const { limiter, retry, lostAfter, logger, clock, watcher } = this.#options;
    const { operation } = call;
    const now = clock.now();
    const missing = countMissing(state, failure, now);
    const isBroken = isConclusive(countBroken(state, failure, now), lostAfter);
    const decision = decideRetry(operation, failure, isLast || isConclusive(missing, lostAfter), isBroken);
    if (decision.kind !== 'retry') return { error: finalError(decision.kind, failure, call) };
    if (signal.aborted) return { error: signal.reason };

    state.pause = 0;
    const facts = callFacts(call, failure);
    const message = describeFailure(failure);
    logger.debug(facts, `${operation} failed and is tried again: ${message}`);
    if (isMissing(failure)) {
      if (missing.count === 1) {
        logger.warn(
          facts,
          `${operation} of folio ${facts.folio}: ${message}; this is tried again for ${formatDuration(lostAfter)}`,
        );
      }
      // The service answers, so this is no outage.
      this.#outages.get(operation)?.recordSuccess(now);
      state.failingSince = null;
      state.skipsBackOff = false;
      return undefined;
    }
    state.failingSince ??= now;
    const since = this.#outage(operation).recordFailure(now, facts, message);
    // Replies that break the interface are tolerated for at least `lostAfter`: before that, they may be a passing
    // fault.
    const isBreach = failure.kind === 'malformed' && failure.breach !== null;
    const giveUpAfter = isBreach ? Math.max(retry.giveUpAfter, lostAfter) : retry.giveUpAfter;
    const lasting = now - Math.min(since, state.failingSince);
    if (lasting >= giveUpAfter) return { error: finalError('gave-up', failure, call) };
    if (decision.after === null) {
      watcher?.failing(operation, lasting, giveUpAfter - lasting, `${operation} fails: ${message}`);
    } else {
      const pause = Math.min(decision.after, retry.giveUpAfter);
      limiter.pause(pause);
      // After so long a wait, a further call would measure a new outage, and would never give up.
      state.pause = 2 * pause > retry.giveUpAfter ? null : pause;
      watcher?.throttled(pause, message);
    }
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
 * Counts the replies of this call that say that a folio or part does not exist. Another failure between them (a cut
 * connection, a proxy's page) says nothing about the folio, so it does not reset the count.
 */
function countMissing(state: CallState, failure: Failure, now: number): SameReplies {
  const { since, count } = state.missing ?? { since: now, count: 0 };
  if (!isMissing(failure)) return { count, duration: now - since };
  state.missing = { since, count: count + 1 };
  return { count: count + 1, duration: now - since };
}

/**
 * Counts the replies that break the interface in the same way. A reply that breaks it in another way is counted from 1.
 */
function countBroken(state: CallState, failure: Failure, now: number): SameReplies {
  if (failure.kind !== 'malformed' || failure.breach === null) return { count: 0, duration: 0 };
  const { breach } = failure;
  const before = state.broken?.breach === breach ? state.broken : { since: now, count: 0 };
  state.broken = { breach, since: before.since, count: before.count + 1 };
  return { count: state.broken.count, duration: now - before.since };
}

function isTooMany(failure: Failure | undefined): boolean {
  return failure?.kind === 'status' && failure.status === 429;
}

/** What a function throws. */
async function errorOf(
  call: (() => Promise<void> | void) | undefined,
): Promise<{ readonly error: unknown } | undefined> {
  try {
    await call?.();
    return undefined;
  } catch (error) {
    return { error };
  }
}
