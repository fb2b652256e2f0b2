/** Drives the attempts of a call: gate, back-off and giving up. What a failure means is decided elsewhere. */
import pRetry from 'p-retry';
import { MalformedReplyError } from '../streams/malformed-reply-error.js';
import type { Milliseconds } from '../types.js';
import type { ApiLogger } from './api-logger.js';
import { AttemptError, type Failure, type Operation } from './failure.js';
import { type Call, callFacts, describeFailure, finalError } from './final-error.js';
import { Outage } from './outage.js';
import type { RequestGate } from './request-gate.js';
import { decideRetry, isMissing } from './retry-decision.js';
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
  readonly logger: ApiLogger;
  readonly show: ServiceText;
}

/** How a call ended: with a value, or with what it throws. */
type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/** What the attempts of one call have shown so far. */
interface CallState {
  failingSince: number | null;
  timesMissing: number;
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
   * @throws the errors of `finalError`, or the signal's reason where nothing worse can have happened.
   */
  async run<T>(call: Call, attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { gate, retry, show } = this.#options;
    const state: CallState = { failingSince: null, timesMissing: 0, waitsAtGate: false };
    let outcome: Outcome<T> | undefined;
    const attemptOnce = async (): Promise<void> => {
      try {
        await gate.enter(signal);
        outcome = { value: await attempt() };
        this.#outage(call.operation).recordSuccess(performance.now());
      } catch (error) {
        const failure = failureOf(error, show);
        outcome = failure === undefined ? { error } : this.#judge(call, failure, state, signal);
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

  /** How a failure ends the call, or undefined where another attempt follows. */
  #judge(
    call: Call,
    failure: Failure,
    state: CallState,
    signal: AbortSignal,
  ): { readonly error: unknown } | undefined {
    const { gate, retry, logger } = this.#options;
    state.timesMissing = isMissing(failure) ? state.timesMissing + 1 : 0;
    const decision = decideRetry(call.operation, failure, state.timesMissing);
    if (decision.kind !== 'retry') return { error: finalError(decision.kind, failure, call) };
    if (signal.aborted) return { error: signal.reason };

    const facts = callFacts(call, failure);
    const message = describeFailure(failure);
    logger.debug(facts, `${call.operation} failed and is tried again: ${message}`);
    const now = performance.now();
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

function failureOf(error: unknown, show: ServiceText): Failure | undefined {
  if (error instanceof AttemptError) return error.failure;
  if (error instanceof MalformedReplyError) return { kind: 'malformed', message: show(error.message) };
  return undefined;
}
