/**
 * Learns from refused uploads how many open folios the service allows; pure. A first refusal may have another reason,
 * such as too many requests, so the same upload asks once more. After a second one within a minute, no more folios are
 * opened than were accepted. When no upload was refused for a while, one more is tried; then two, four, while the service
 * accepts them. After each try that is refused, the time until the next one is doubled.
 */
import type { Milliseconds } from '../types.js';

const MINUTE: Milliseconds = 60_000;
/** The time without a refusal after which one more folio is tried. */
const FIRST_QUIET: Milliseconds = MINUTE;
const LONGEST_QUIET: Milliseconds = 60 * MINUTE;

/** What is learned so far, to be kept as JSON. */
export interface OpenLimitState {
  /** Null: as many as wanted. */
  readonly limit: number | null;
  readonly isTrying: boolean;
  readonly step: number;
  readonly quiet: Milliseconds;
  /** Null: nothing was refused. */
  readonly refusedAt: Milliseconds | null;
  readonly hasAccepted: boolean;
}

/** All times are of one monotonic clock. */
export class OpenLimit {
  readonly #most: number;
  #limit: number;
  /** Whether, since the last refusal, more folios may be open than the service is known to allow. */
  #isTrying = false;
  #step = 1;
  #quiet: Milliseconds = FIRST_QUIET;
  #refusedAt: Milliseconds = Number.NEGATIVE_INFINITY;
  /** Whether an upload was accepted since then. */
  #hasAccepted = true;

  /**
   * @param most the limit is never above this.
   * @param state what was learned before.
   */
  constructor(most: number, state?: OpenLimitState) {
    this.#most = most;
    this.#limit = most;
    if (state === undefined) return;
    this.#limit = Math.min(state.limit ?? most, most);
    this.#isTrying = state.isTrying;
    this.#step = state.step;
    this.#quiet = state.quiet;
    this.#refusedAt = state.refusedAt ?? Number.NEGATIVE_INFINITY;
    this.#hasAccepted = state.hasAccepted;
  }

  get state(): OpenLimitState {
    return {
      limit: this.#limit === this.#most ? null : this.#limit,
      isTrying: this.#isTrying,
      step: this.#step,
      quiet: this.#quiet,
      refusedAt: Number.isFinite(this.#refusedAt) ? this.#refusedAt : null,
      hasAccepted: this.#hasAccepted,
    };
  }

  /** How many folios may be open, as far as is known. */
  get limit(): number {
    return this.#limit;
  }

  /** Takes note that an upload was refused while `open` folios were open. */
  refused(open: number, now: Milliseconds): void {
    const isFirst = this.#limit === this.#most && this.#hasAccepted && now - this.#refusedAt > MINUTE;
    this.#refusedAt = now;
    this.#hasAccepted = false;
    // If none is open here, other clients have all the folios that the service admits.
    if (isFirst || open === 0) return;
    if (this.#isTrying) this.#quiet = Math.min(2 * this.#quiet, LONGEST_QUIET);
    this.#isTrying = false;
    this.#step = 1;
    this.#limit = Math.min(this.#limit, open);
  }

  /** Takes note that the service has accepted one more folio, so that `open` are open now. */
  accepted(open: number): void {
    this.#hasAccepted = true;
    if (!this.#isTrying || open < this.#limit) return;
    this.#quiet = FIRST_QUIET;
    this.#step *= 2;
    this.#limit = Math.min(this.#limit + this.#step, this.#most);
  }

  /** Raises the limit if it is time for that; called whenever a folio has ended. */
  ended(now: Milliseconds): void {
    if (this.#isTrying || this.#limit === this.#most || now - this.#refusedAt < this.#quiet) return;
    this.#isTrying = true;
    this.#limit = Math.min(this.#limit + this.#step, this.#most);
  }
}
