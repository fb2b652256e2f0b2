/**
 * The request limiter of a process that shares its account with others. Each request needs a slot: a time at which it
 * alone may be sent (`RequestSlots`). Slots are as far apart as the limit asks for, and a little more: then a slot may be
 * used a little late, and still no second has more requests than allowed, wherever it begins. Later than that a slot
 * is void, such as after this process was stopped.
 */
import { longestTimerMs } from '../quantities.js';
import { type Clock, createRest, type Rest } from '../streams/clock.js';
import type { RequestSlots } from '../streams/request-slots.js';
import type { Milliseconds } from '../types.js';
import type { Operation } from './failure.js';
import type { RequestLimiter, Written } from './rate-limiter.js';

const SECOND: Milliseconds = 1_000;
/** What is spent on slots that are used late: so much of each second. */
const SLACK: Milliseconds = 40;
/** How late a request may be written. The rest of `SLACK` is for differences on its way to the service. */
const LATEST: Milliseconds = 30;
const FIRST_EXTRA: Milliseconds = 20;
/** The time for which slots are taken at once where requests wait for them. */
const BLOCK: Milliseconds = 50;
/** Limits from here on are high enough to take a block also for requests that are still to come. */
const MANY_PER_SECOND = 200;

interface Slot {
  /** It may be used from then until then. */
  readonly from: Milliseconds;
  readonly until: Milliseconds;
  /** How many pauses had begun when it was taken: none may begin after that. */
  readonly pauses: number;
}

interface Waiter {
  /** How long before its slot it starts, because it opens a connection first. */
  readonly lead: Milliseconds;
  readonly start: (slot: Slot) => void;
  readonly fail: (error: unknown) => void;
}

export class SharedLimiter implements RequestLimiter {
  readonly #slots: RequestSlots;
  readonly #clock: Clock;
  readonly #waiters = new Set<Waiter>();
  /** From one slot to the next, as far as is known. */
  #spacing: Milliseconds;
  #taken: Slot[] = [];
  #pausedUntil: Milliseconds = Number.NEGATIVE_INFINITY;
  #pauses = 0;
  /** How long it takes to open a connection, lately. */
  #connectTime: Milliseconds = 0;
  /** The shortest time that a question and its answer have taken on their way; unknown at first. */
  #travel: Milliseconds | undefined;
  /** How much later than `LATEST` a slot may be used, because some were used too late. */
  #extra: Milliseconds = 0;
  /** Whether nobody else had to wait when slots were taken last. */
  #isQuiet = true;
  #isServing = false;
  #isListening: Promise<void> | undefined;
  readonly #rest: Rest;

  /**
   * @param perSecond this pipeline's limit. The account's own one may be lower.
   * @param clock `now` must be monotonic.
   */
  constructor(slots: RequestSlots, perSecond: number, clock: Clock) {
    this.#slots = slots;
    this.#spacing = SECOND / perSecond;
    this.#clock = clock;
    this.#rest = createRest(clock);
  }

  /**
   * A request that opens a connection starts a little before its slot. Whichever is written too late for its slot waits
   * for another one.
   */
  async wait(signal: AbortSignal, operation: Operation): Promise<Written> {
    signal.throwIfAborted();
    // A paid request has a connection of its own.
    const connects = operation === 'upload' || operation === 'search';
    const slot = await this.#next(signal, connects ? this.#connectTime : 0);
    const started = this.#clock.now();
    let isWritten = false;
    return (isEnd = false) => {
      if (isWritten || isEnd) return undefined;
      isWritten = true;
      const now = this.#clock.now();
      if (connects) this.#connectTime = Math.max(now - started, 0.9 * this.#connectTime);
      return this.#isOpen(slot) ? undefined : this.#untilOpen(slot, signal);
    };
  }

  /** The more slots are used too late, the longer the next ones last. */
  #adapt(wasTooLate: boolean): void {
    this.#extra = wasTooLate ? Math.min(2 * this.#extra + FIRST_EXTRA, SECOND) : Math.floor(this.#extra / 2);
  }

  #isOpen({ from, until, pauses }: Slot): boolean {
    const now = this.#clock.now();
    return pauses === this.#pauses && now >= from && now <= until;
  }

  /** Waits for the slot, or for a later one if it is too late for this one. */
  async #untilOpen(first: Slot, signal: AbortSignal): Promise<void> {
    for (let slot = first; !this.#isOpen(slot); ) {
      const left = slot.from - this.#clock.now();
      if (left > 0 && slot.pauses === this.#pauses) await this.#clock.sleep(Math.ceil(left), signal);
      else {
        this.#adapt(true);
        slot = await this.#next(signal, 0);
      }
    }
  }

  /** Waits for the end of a pause, so that nothing is begun that has to wait for it. */
  async ready(signal: AbortSignal): Promise<void> {
    await this.#listen();
    for (let left = this.#pauseLeft(); left > 0; left = this.#pauseLeft()) {
      await this.#clock.sleep(Math.min(Math.ceil(left), longestTimerMs), signal);
    }
  }

  pause(time: Milliseconds): void {
    this.#hold(time);
    // The other processes are told by the next 429 if this fails.
    this.#slots.pause(time).catch(() => undefined);
  }

  #pauseLeft(): Milliseconds {
    return this.#pausedUntil - this.#clock.now();
  }

  #hold(time: Milliseconds): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.now() + time);
    this.#pauses += 1;
    this.#taken = [];
    this.#rest.wake();
  }

  #listen(): Promise<void> {
    this.#isListening ??= this.#slots.listen((time) => this.#hold(time));
    return this.#isListening;
  }

  #next(signal: AbortSignal, lead: Milliseconds): Promise<Slot> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const leave = (): void => {
        signal.removeEventListener('abort', onAbort);
        this.#waiters.delete(waiter);
      };
      const onAbort = (): void => {
        leave();
        reject(signal.reason);
        if (this.#waiters.size === 0) this.#rest.wake();
      };
      const waiter: Waiter = {
        lead,
        start: (slot) => {
          leave();
          resolve(slot);
        },
        fail: (error) => {
          leave();
          reject(error);
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(waiter);
      this.#serve();
    });
  }

  #serve(): void {
    if (this.#isServing) return;
    this.#isServing = true;
    this.#serveAll()
      .catch((error: unknown) => {
        this.#isListening = undefined;
        for (const { fail } of [...this.#waiters]) fail(error);
      })
      .finally(() => {
        this.#isServing = false;
        if (this.#waiters.size > 0) this.#serve();
      });
  }

  async #serveAll(): Promise<void> {
    await this.#listen();
    while (this.#waiters.size > 0) {
      const now = this.#clock.now();
      this.#taken = this.#taken.filter(({ until }) => until >= now);
      const [slot] = this.#taken;
      const [waiter] = this.#waiters;
      if (slot === undefined) await this.#take();
      else if (slot.from - waiter!.lead > now) {
        // Ends early when a pause begins, or when nobody waits any more. A timer may fire early: then another one waits.
        const time = Math.ceil(slot.from - waiter!.lead - now);
        await this.#rest.rest(Math.min(time, longestTimerMs));
      } else {
        this.#taken.shift();
        waiter!.start(slot);
      }
    }
  }

  async #take(): Promise<void> {
    const block = Math.max(Math.ceil(BLOCK / this.#spacing), 1);
    const isGenerous = this.#spacing * MANY_PER_SECOND < SECOND && this.#isQuiet;
    const count = isGenerous ? block : Math.min(this.#waiters.size, block);
    const pauses = this.#pauses;
    const extra = this.#extra;
    let asked = 0;
    const { opensIn, opensAfter, spacing } = await this.#slots.take({
      count,
      // Whoever may be later pays for it alone, with the distance to the next slot.
      span: SECOND + SLACK + (extra * (SECOND + SLACK)) / this.#spacing,
      lead: Math.min(this.#travel ?? 0, SECOND),
      onSend: () => {
        asked = this.#clock.now();
      },
    });
    const answered = this.#clock.now();
    // What was taken before a pause was heard of lies within the pause.
    if (this.#pauses !== pauses) return;
    const took = answered - asked - (opensAfter - opensIn);
    this.#travel = Math.min(this.#travel ?? took, took);
    // The slot lies between both of these: nobody knows how much of that time the question has taken.
    const first = asked + opensAfter;
    const last = answered + opensIn;
    this.#isQuiet = opensIn <= this.#travel;
    this.#spacing = spacing - extra;
    for (let nth = 0; nth < count; nth++) {
      const [from, until] = [last + nth * spacing, first + nth * spacing + LATEST + extra];
      this.#taken.push({ from, until, pauses });
    }
    this.#adapt(this.#taken[0]!.until < answered);
  }
}
