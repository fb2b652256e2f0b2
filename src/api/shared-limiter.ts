/**
 * The request limiter of a process that shares its account with others. Each request needs a slot of its own: a time in
 * which it may be sent (`RequestSlots`). A slot that was not used in its time, for example because this process was
 * stopped, is void: the request gives it back for another one.
 */
import { longestTimerMs } from '../quantities.js';
import { type Clock, createRest, type Rest } from '../streams/clock.js';
import { OtherClock } from '../streams/other-clock.js';
import type { RequestSlots } from '../streams/request-slots.js';
import type { Milliseconds } from '../types.js';
import type { RequestLimiter, Written } from './rate-limiter.js';
import { isPaid, type Operation } from './requests.js';

const SECOND: Milliseconds = 1_000;
/** Covers the differences between the times that two requests take to reach the service. */
const MARGIN: Milliseconds = 20;
/** How long a slot lasts while others wait: each of them waits that much longer. */
const LASTS: Milliseconds = 15;
/** How long a slot lasts while no other process waits. */
const LASTS_ALONE: Milliseconds = 150;
const FIRST_EXTRA: Milliseconds = 20;
/** How much longer a slot lasts at most because some were used too late: no answer takes longer. */
const MOST_EXTRA: Milliseconds = 15 * SECOND;
/** How much longer a slot lasts at most because of slow answers, and before the first answer. */
const MOST_UNSURE: Milliseconds = 150;
/** The time for which slots are taken at once where requests wait for them. */
const BLOCK: Milliseconds = 50;
/** From this limit on, a block is taken also for requests that are still to come. */
const MANY_PER_SECOND = 200;

interface Slot {
  /** Between these times it may be used. */
  readonly from: Milliseconds;
  readonly until: Milliseconds;
  /** Its end, on the clock by which all slots are counted. */
  readonly end: number;
  /** How many pauses had begun when it was taken: the next pause makes it void. */
  readonly pauses: number;
}

/** A request whose slot was void comes first. An upload comes before all others: it gives the service work to do. */
type Rank = 'again' | 'upload' | 'other';

interface Waiter {
  readonly rank: Rank;
  /** How long before its slot it starts, because it opens a connection first. */
  readonly lead: Milliseconds;
  readonly start: (slot: Slot) => void;
  readonly fail: (error: unknown) => void;
}

export class SharedLimiter implements RequestLimiter {
  readonly #slots: RequestSlots;
  readonly #clock: Clock;
  /** The clock by which all slots are counted. */
  readonly #counting = new OtherClock();
  readonly #waiters = new Set<Waiter>();
  /** The limit, as far as is known. */
  #perSecond: number;
  #taken: Slot[] = [];
  /** Ends of slots in which nothing was sent. */
  #unused: number[] = [];
  #pausedUntil: Milliseconds = Number.NEGATIVE_INFINITY;
  #pauses = 0;
  /** How long it took to open a connection lately. */
  #connectTime: Milliseconds = 0;
  /** How much longer slots last, because some were used too late. */
  #extra: Milliseconds = 0;
  /** Whether no other process had to wait when slots were last taken. */
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
    this.#perSecond = perSecond;
    this.#clock = clock;
    this.#rest = createRest(clock);
  }

  /**
   * A request that opens a connection starts a little before its slot. A request that would be written too late for its
   * slot waits for another one.
   */
  async wait(signal: AbortSignal, operation: Operation): Promise<Written> {
    signal.throwIfAborted();
    // A paid request has a connection of its own.
    const connects = isPaid(operation);
    const rank = operation === 'upload' ? 'upload' : 'other';
    const slot = await this.#next(signal, rank, connects ? this.#connectTime : 0);
    const started = this.#clock.now();
    let isWritten = false;
    return (isEnd = false) => {
      if (isWritten) return undefined;
      isWritten = true;
      if (isEnd) return void this.#unused.push(slot.end);
      const now = this.#clock.now();
      if (connects) this.#connectTime = Math.max(now - started, 0.9 * this.#connectTime);
      return this.#isOpen(slot) ? undefined : this.#untilOpen(slot, signal);
    };
  }

  /** The more slots are used too late, the longer the next ones last. */
  #adapt(wasTooLate: boolean): void {
    this.#extra = wasTooLate
      ? Math.min(2 * this.#extra + FIRST_EXTRA, MOST_EXTRA)
      : Math.floor(this.#extra / 2);
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
        this.#unused.push(slot.end);
        this.#adapt(true);
        slot = await this.#next(signal, 'again', 0);
      }
    }
  }

  /** Waits for the end of a pause, so that no request is begun that would have to wait for that end. */
  async ready(signal: AbortSignal): Promise<void> {
    await this.#listen();
    for (let left = this.#pauseLeft(); left > 0; left = this.#pauseLeft()) {
      await this.#clock.sleep(Math.min(Math.ceil(left), longestTimerMs), signal);
    }
  }

  pause(time: Milliseconds): void {
    this.#hold(time);
    // If this fails, the other processes notice the pause by their own next 429.
    this.#slots.pause(time).catch(() => undefined);
  }

  #pauseLeft(): Milliseconds {
    return this.#pausedUntil - this.#clock.now();
  }

  #hold(time: Milliseconds): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.now() + time);
    this.#pauses += 1;
    this.#giveBack(() => false);
    this.#rest.wake();
  }

  /** Gives back the slots that were taken and cannot be used. */
  #giveBack(isOfUse: (slot: Slot) => boolean): void {
    for (const slot of this.#taken) if (!isOfUse(slot)) this.#unused.push(slot.end);
    this.#taken = this.#taken.filter(isOfUse);
  }

  #listen(): Promise<void> {
    this.#isListening ??= this.#slots.listen((time) => this.#hold(time));
    return this.#isListening;
  }

  #next(signal: AbortSignal, rank: Rank, lead: Milliseconds): Promise<Slot> {
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
        rank,
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
      this.#giveBack(({ until }) => until >= now);
      const [slot] = this.#taken;
      const waiter = this.#first();
      if (slot === undefined) await this.#take();
      else if (slot.from - waiter.lead > now) {
        // Ends early when a pause begins, or when nobody waits any more. A timer may fire early: then another one waits.
        const time = Math.ceil(slot.from - waiter.lead - now);
        await this.#rest.rest(Math.min(time, longestTimerMs));
      } else {
        this.#taken.shift();
        waiter.start(slot);
      }
    }
  }

  #first(): Waiter {
    const waiters = [...this.#waiters];
    const firstOf = (rank: Rank) => waiters.find((waiter) => waiter.rank === rank);
    return (firstOf('again') ?? firstOf('upload') ?? firstOf('other'))!;
  }

  async #take(): Promise<void> {
    const block = Math.max(Math.ceil((BLOCK * this.#perSecond) / SECOND), 1);
    const isGenerous = this.#perSecond > MANY_PER_SECOND && this.#isQuiet;
    const count = isGenerous ? block : Math.min(this.#waiters.size, block);
    const pauses = this.#pauses;
    const unused = this.#unused.splice(0);
    // A slot is open only while both bounds of the other clock lie within it.
    const extra = this.#extra + Math.min(this.#counting.unsure, MOST_UNSURE);
    let asked = 0;
    const { ends, lasts, isFull, perSecond, ...times } = await this.#slots.take({
      count,
      span: SECOND + MARGIN,
      // A process that may be later than others takes longer slots itself, so that the others lose nothing.
      lasts: LASTS + extra,
      lastsAlone: LASTS_ALONE + extra,
      unused,
      onSend: () => {
        asked = this.#clock.now();
      },
    });
    const answered = this.#clock.now();
    this.#counting.hear({ ...times, asked, answered });
    this.#isQuiet = !isFull;
    this.#perSecond = perSecond;
    const isWithinPause = this.#pauses !== pauses;
    for (const end of ends) {
      const from = this.#counting.local(end - lasts).latest;
      const until = this.#counting.local(end).earliest;
      // Slots that were taken before this process heard of the pause lie within it.
      if (isWithinPause) this.#unused.push(end);
      else this.#taken.push({ from, until, end, pauses });
    }
    this.#adapt(!isWithinPause && this.#taken[0]!.until < answered);
  }
}
