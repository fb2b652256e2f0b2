/** Drives the attempts of a call: gate, back-off and giving up. What a failure means is decided elsewhere. */
import ms from 'ms';
import pRetry from 'p-retry';
import { MalformedReplyError } from '../streams/malformed-reply-error.js';
import type { Milliseconds } from '../types.js';
import { AttemptError, type Failure, type Operation } from './failure.js';
import { type Call, callFacts, describeFailure, finalError } from './final-error.js';
import type { RequestGate } from './rate-limiter.js';
import { decideRetry, isLost, isMissing, type Missing } from './retry-decision.js';
import type { ServiceText } from './service-text.js';

export interface RetryTimes {
  /** Back-off before the second attempt; it doubles from there, randomized. */
  readonly first: Milliseconds;
  readonly max: Milliseconds;
  /** An outage longer than this ends the call. */
  readonly giveUpAfter: Milliseconds;
}

export interface RetryLoopOptions {
  readonly gate: RequestGate;
  readonly retry: RetryTimes;
  /** How long the service must keep saying that something is missing, before it is lost. */
  readonly lostAfter: Milliseconds;
  readonly logger: ApiLogger;
  readonly show: ServiceText;
}

/** How a call ended: with a value, or with what it throws. */
type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/** What the attempts of one call have shown so far. */
interface CallState {
  failingSince: number | null;
  missing: { readonly since: number; readonly times: number } | null;
  /** The service named the time to wait: the gate holds us for exactly that long, without back-off. */
  waitsAtGate: boolean;
}

export class RetryLoop {
  readonly #options: RetryLoopOptions;
  readonly #outages = new Map<Operation, Outage>();

  constructor(options: RetryLoopOptions) {
    this.#options = options;
  }

  /**
   * Makes attempts until one ends the call; their number has no bound, their time has. An attempt throws
   * `AttemptError` or `MalformedReplyError` where it failed; whatever else it throws ends the call as it is.
   * @param until once aborted, a single answer that what is asked for is missing ends the call.
   * @throws the errors of `finalError`, or the signal's reason where nothing worse can have happened.
   */
  async run<T>(call: Call, attempt: () => Promise<T>, signal: AbortSignal, until?: AbortSignal): Promise<T> {
    const { gate, retry, show } = this.#options;
    const state: CallState = { failingSince: null, missing: null, waitsAtGate: false };
    let outcome: Outcome<T> | undefined;
    const attemptOnce = async (): Promise<void> => {
      try {
        await gate.enter(signal);
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
        shouldConsumeRetry: () => !state.waitsAtGate,
      });
    } catch (error) {
      // An abort that comes together with the reply must not throw a paid folio away.
      if (outcome === undefined) throw error;
    }
    if (outcome !== undefined && 'value' in outcome) return outcome.value;
    throw outcome?.error;
  }

  /**
   * How a failure ends the call, or undefined where another attempt follows.
   * @param isLast whether nobody waits to hear again that something is missing.
   */
  #judge(
    call: Call,
    failure: Failure,
    state: CallState,
    signal: AbortSignal,
    isLast: boolean,
  ): { readonly error: unknown } | undefined {
    const { gate, retry, lostAfter, logger } = this.#options;
    const now = performance.now();
    const missing = countMissing(state, failure, now);
    const decision = decideRetry(call.operation, failure, isLast || isLost(missing, lostAfter));
    if (decision.kind !== 'retry') return { error: finalError(decision.kind, failure, call) };
    if (signal.aborted) return { error: signal.reason };

    const facts = callFacts(call, failure);
    const message = describeFailure(failure);
    logger.debug(facts, `${call.operation} failed and is tried again: ${message}`);
    if (isMissing(failure)) {
      const { operation } = call;
      if (missing.times === 1) {
        logger.warn(facts, `${operation}: ${message}; this is tried again for ${ms(lostAfter)}`);
      }
      // Whoever says that something is missing is there.
      this.#outage(operation).recordSuccess(now);
      state.failingSince = null;
      state.waitsAtGate = false;
      return undefined;
    }
    state.failingSince ??= now;
    const since = this.#outage(call.operation).recordFailure(now, facts, message);
    if (now - Math.min(since, state.failingSince) >= retry.giveUpAfter) {
      return { error: finalError('gave-up', failure, call) };
    }
    if (decision.after !== null) gate.pause(Math.min(decision.after, retry.giveUpAfter));
    state.waitsAtGate = decision.after !== null && decision.after >= retry.first;
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
 * Counts this failure with those before it that said the same. What is in between (a cut connection, a proxy's page)
 * is no answer of the service, so it breaks no row: only a folio that is known does, and then the call has ended.
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

/** How long an operation has been failing, and what of it is told: its begin, once a minute, and its end. */
const TELL_EVERY: Milliseconds = 60_000;

/** Times are on one steady clock, given by the caller. */
export class Outage {
  readonly #operation: Operation;
  readonly #logger: ApiLogger;
  /** A failure that comes this long after the last one is another outage. */
  readonly #forgetAfter: Milliseconds;
  #since: number | null = null;
  #lastFailureAt = 0;
  #toldAt = Number.NEGATIVE_INFINITY;
  #isTold = false;

  constructor(operation: Operation, logger: ApiLogger, forgetAfter: Milliseconds) {
    this.#operation = operation;
    this.#logger = logger;
    this.#forgetAfter = forgetAfter;
  }

  /** @returns since when the operation has been failing. */
  recordFailure(now: number, facts: object, message: string): number {
    if (this.#since === null || now - this.#lastFailureAt > this.#forgetAfter) this.#since = now;
    this.#lastFailureAt = now;
    if (now - this.#toldAt >= TELL_EVERY) {
      this.#toldAt = now;
      this.#isTold = true;
      const seconds = Math.round((now - this.#since) / 1000);
      const lasting = seconds === 0 ? '' : ` (for ${seconds} s)`;
      this.#logger.warn(facts, `${this.#operation} fails and is tried again${lasting}: ${message}`);
    }
    return this.#since;
  }

  recordSuccess(now: number): void {
    if (this.#since !== null && this.#isTold) {
      const seconds = Math.round((now - this.#since) / 1000);
      this.#logger.info(
        { operation: this.#operation, seconds },
        `${this.#operation} works again after ${seconds} s`,
      );
      this.#isTold = false;
    }
    this.#since = null;
  }
}

/** What the client of the network asks of a logger; pino is one. */
export interface ApiLogger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
