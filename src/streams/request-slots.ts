/** The port to the times at which the requests of an account may be sent, which several processes share. */
import type { Milliseconds } from '../types.js';

/** Slots that are taken: nobody else sends at these times. */
export interface TakenSlots {
  /** From the moment at which the answer was sent until the first slot. */
  readonly opensIn: Milliseconds;
  /** From the moment at which the question was received until the first slot. */
  readonly opensAfter: Milliseconds;
  /** From one slot to the next. */
  readonly spacing: Milliseconds;
}

export interface SlotsAsked {
  readonly count: number;
  readonly span: Milliseconds;
  readonly lead: Milliseconds;
  readonly onSend: () => void;
}

export interface RequestSlots {
  /**
   * Takes the next slots, one after the other.
   * @param asked.span how long the requests of a second are spread over: as much longer than a second as a slot may be late.
   * @param asked.lead the first slot is not sooner, because the answer takes so long.
   * @param asked.onSend called just before the question is sent.
   */
  take(asked: SlotsAsked): Promise<TakenSlots>;
  /** Gives no slot before this time has passed, to anybody; keeps a longer pause. */
  pause(time: Milliseconds): Promise<void>;
  /** Calls `hear` with each pause, whoever has asked for it, until the account is closed. */
  listen(hear: (time: Milliseconds) => void): Promise<void>;
}
