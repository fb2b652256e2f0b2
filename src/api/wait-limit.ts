/** Ends what keeps us waiting for too long: a connection, the head of a reply, or a piece of its body. */
import type { Milliseconds } from '../types.js';

/** Named in errors and logs. */
export type Phase = 'CONNECT_TIMEOUT' | 'HEADERS_TIMEOUT' | 'BODY_TIMEOUT';

export class WaitLimit {
  #timer: NodeJS.Timeout | undefined;
  #isPaused = false;

  /** Begins the wait of a phase, in place of the one before. */
  begin(phase: Phase, time: Milliseconds, giveUp: (error: Error) => void): void {
    this.end();
    this.#timer = setTimeout(() => {
      if (this.#isPaused) this.#timer?.refresh();
      else giveUp(Object.assign(new Error(`nothing came for ${time} ms`), { code: phase }));
    }, time);
  }

  /** Nobody waits now. */
  pause(): void {
    this.#isPaused = true;
  }

  /** Waits again, from now on. */
  resume(): void {
    this.#isPaused = false;
    this.#timer?.refresh();
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
