/** The clock of another machine, estimated from the answers that come from there. */
import type { Milliseconds } from '../types.js';

/**
 * By how many milliseconds a clock may gain on another one in each millisecond: while a clock is being set, it runs
 * faster or slower.
 */
const DRIFT = 0.001;

/** A question and its answer. */
interface Exchange {
  /** By this process's clock, which must be monotonic. */
  readonly asked: Milliseconds;
  readonly answered: Milliseconds;
  /** By the other clock. */
  readonly receivedAt: number;
  readonly answeredAt: number;
}

/**
 * What another machine's clock shows, between two bounds: that machine receives a question after it was sent here, and
 * answers before the answer arrives here. The faster the answer, the closer the bounds.
 */
export class OtherClock {
  /** How far the other clock is ahead of this process's: at least, and at most. */
  #least = Number.NEGATIVE_INFINITY;
  #most = Number.POSITIVE_INFINITY;
  #heard: Milliseconds = 0;

  /** How far the two bounds are apart; infinite before the first answer. */
  get unsure(): Milliseconds {
    return this.#most - this.#least;
  }

  hear({ asked, answered, receivedAt, answeredAt }: Exchange): void {
    const [least, most] = [answeredAt - answered, receivedAt - asked];
    const drift = DRIFT * (answered - this.#heard);
    this.#least = Math.max(least, this.#least - drift);
    this.#most = Math.min(most, this.#most + drift);
    // The other clock was set, so the earlier bounds no longer hold.
    if (this.#least > this.#most) [this.#least, this.#most] = [least, most];
    this.#heard = answered;
  }

  /** The time by this process's clock when the other one shows this: at the earliest, and at the latest. */
  local(time: number): { readonly earliest: Milliseconds; readonly latest: Milliseconds } {
    return { earliest: time - this.#most, latest: time - this.#least };
  }
}
