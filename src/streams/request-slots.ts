/** The port to the times at which the requests of an account may be sent, which several processes share. */
import type { Milliseconds } from '../types.js';

/** Slots that are taken. All times are in ms, of the clock by which the slots are counted. */
export interface TakenSlots {
  /** When each of them ends: until then a request counts as sent. */
  readonly ends: readonly number[];
  /** How long each of them lasts. */
  readonly lasts: Milliseconds;
  /** Whether they open later because other processes have taken slots. */
  readonly isFull: boolean;
  /** The limit that holds for all. */
  readonly perSecond: number;
  /** When the question was received, at the earliest, and when the answer was sent, at the latest. */
  readonly receivedAt: number;
  readonly answeredAt: number;
}

interface SlotsAsked {
  readonly count: number;
  /**
   * The least time between a request and the n-th one after it, if the limit allows n requests a second.
   */
  readonly span: Milliseconds;
  /**
   * How long a slot lasts: at least `lasts`, while others wait for theirs, and at most `lastsAlone`, while no other
   * process has taken any.
   */
  readonly lasts: Milliseconds;
  readonly lastsAlone: Milliseconds;
  /** The ends of taken slots in which nothing was sent and nothing will be sent. */
  readonly unused: readonly number[];
  /** Called just before the question is sent. */
  readonly onSend: () => void;
}

export interface RequestSlots {
  /** Takes the next slots, in order: at least one, and at most as many as the limit allows in a second. */
  take(asked: SlotsAsked): Promise<TakenSlots>;
  /** Gives nobody a slot before this time has passed; a longer pause stays. */
  pause(time: Milliseconds): Promise<void>;
  /** Calls `hear` with each pause, whoever has asked for it, until the account is closed. */
  listen(hear: (time: Milliseconds) => void): Promise<void>;
}
