/**
 * Decides when to poll a folio: from its progress so far, from the times that other folios took (`folio-times.ts`), and
 * from the number of open folios. Reads no clock and does not wait: the caller passes all times, which are of one clock.
 */
import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import type { Milliseconds } from '../../types.js';
import {
  expectedTime,
  type FolioTime,
  leftByPercentage,
  longWaitShare,
  maxTimes,
  predictedTime,
  type Reading,
  rememberTime,
  tolerance,
} from './folio-times.js';

/** The state that all folios share for their poll schedules. */
export interface PollState {
  /** Folios that are being polled. */
  open: number;
  /** Folios that are or were being polled. */
  begun: number;
  /** What is known of the newest finished folios. */
  times: readonly FolioTime[];
  /**
   * The expected time of a folio, from these times; kept until another folio finishes, undefined while it is not
   * computed.
   */
  expected: Milliseconds | null | undefined;
  /** While none is finished: the times that the percentages of open folios predict, by chunk. */
  readonly predicted: Map<number, FolioTime>;
  /** Aborted when the time of a folio is known for the first time. */
  readonly known: AbortController;
}

export function createPollState(): PollState {
  const known = new AbortController();
  return { open: 0, begun: 0, times: [], expected: undefined, predicted: new Map(), known };
}

/** Without a reason, each abort would make an error with a stack. */
const KNOWN = 'the time of a folio is known';

/** The polls of one folio so far, and the time until its next one. */
export class FolioSchedule {
  readonly #chunk: ChunkRow;
  readonly #state: PollState;
  readonly #began: number;
  readonly #nth: number;
  #polls = 0;
  /** The time from which the age of the folio counts. */
  #since: number;
  #status = '';
  #before: Reading | null = null;
  #last: Reading | null = null;

  /** @param began the time at which this process begins to poll the folio. */
  constructor(chunk: ChunkRow, state: PollState, began: number) {
    this.#chunk = chunk;
    this.#state = state;
    this.#began = began;
    this.#nth = state.begun++;
    this.#since = chunk.submittedAt!;
  }

  /**
   * The time from the last poll, or from the upload, to the next one. It may change while this folio waits, because
   * others finish.
   * @param pollCost see `expectedTime`.
   */
  delay(limits: PollLimits, pollCost: Milliseconds): Milliseconds {
    const state = this.#state;
    if (state.times.length > 0) state.expected ??= expectedTime(state.times, limits, pollCost);
    const others = state.expected ?? expectedTime([...state.predicted.values()], limits, pollCost);
    const expected = this.#status === 'FINISHED' ? 0 : others;
    const [last, before] = [this.#last, this.#before];
    return last === null
      ? firstDelay(expected, this.#nth, limits)
      : pollDelay({ last, before, expected }, limits);
  }

  /** How much of that time has passed. The clock may have been set back. */
  passed(now: number): Milliseconds {
    return Math.max(now - this.#since - (this.#last?.elapsed ?? 0), 0);
  }

  /** Counts a poll and takes its status. @returns whether the status has changed. */
  polled(status: string, now: number): boolean {
    this.#polls += 1;
    if (status === this.#status) return false;
    this.#status = status;
    // The parts of a finished folio are listed soon, so it is polled often again, even if it took long.
    if (status === 'FINISHED') [this.#since, this.#last] = [now, null];
    return true;
  }

  /** Takes the percentage of a poll after which the folio is still open. */
  goesOn(percentage: number | null, now: number): void {
    this.#before = this.#last;
    this.#last = { elapsed: now - this.#since, percentage };
    const { times, predicted, known } = this.#state;
    const time = times.length > 0 ? null : predictedTime(this.#last, this.#before);
    if (time === null) return;
    predicted.set(this.#chunk.number, time);
    known.abort(KNOWN);
  }

  /**
   * Remembers the time of the folio, whose parts are listed now.
   * @param sentAt when the last poll was sent.
   * @param soon how long after the upload polling may begin, if the first poll alone is to count.
   */
  finished(sentAt: number, soon: Milliseconds): void {
    const submittedAt = this.#chunk.submittedAt!;
    // A folio found finished at the first poll after a resume may have finished hours ago, so its time does not count.
    if (this.#polls === 0 && this.#began - submittedAt > soon) return;
    const by = Math.max(sentAt - submittedAt, 0);
    const { elapsed: after = 0, percentage = null } = this.#last ?? {};
    this.#state.times = rememberTime(this.#state.times, { after: Math.min(after, by), by, percentage });
    this.#state.expected = undefined;
    this.#state.known.abort(KNOWN);
  }
}

export interface PollLimits {
  /** The shortest wait between two polls of a folio. */
  readonly first: Milliseconds;
  /** The longest wait between two polls of a folio. */
  readonly max: Milliseconds;
  /** See `sweepTime`. */
  readonly sweep: Milliseconds;
  /** Whether others wait for requests: then no folio is polled before `first` to learn how long it takes. */
  readonly isShared?: boolean;
}

export interface PollProgress {
  readonly last: Reading;
  /** The reading before the last one, or null. */
  readonly before: Reading | null;
  /** The estimated time of a folio, from finished folios; null while there are none. */
  readonly expected: Milliseconds | null;
}

/**
 * The wait after a poll. Each wait takes half of the estimated remaining time, until one last wait reaches the end. A
 * folio without an estimate, or past its estimate, is polled each time its age has grown by the tolerance.
 */
export function pollDelay(progress: PollProgress, limits: PollLimits): Milliseconds {
  const step = Math.max(progress.last.elapsed * tolerance, limits.first);
  // The early polls of all open folios share the request rate. The last poll of a folio need not wait for its share.
  const stride = Math.max(step, limits.sweep);
  const left = timeLeft(progress, step);
  const withoutEstimate = progress.expected === null ? stride : step;
  const delay = left === null ? withoutEstimate : approach(left, stride);
  return Math.min(Math.max(Math.ceil(delay), limits.first), limits.max);
}

/**
 * The time between the upload and the first poll. While no folio has shown how long it takes, the first four
 * are polled early, each at a different age, to learn that. The others are polled later, so that they can use it.
 * @param nth how many folios were polled before.
 */
export function firstDelay(expected: Milliseconds | null, nth: number, limits: PollLimits): Milliseconds {
  if (expected === null) {
    const age = limits.isShared ? 1 : firstAges[nth]!;
    if (nth < firstAges.length) return Math.floor(limits.first * age);
    return Math.min(Math.max(limits.first, limits.sweep) * (1 + ((nth * goldenRatio) % 1)), limits.max);
  }
  const age = isTrial(nth, expected, limits)
    ? expected - Math.max(expected * trialShare, limits.first)
    : expected;
  return Math.min(Math.ceil(approach(age, Math.max(limits.sweep, limits.first))), limits.max);
}

/**
 * From time to time one folio is polled early, because the service may have become faster: so early that its next poll
 * is still in time. Short folios are tried more often, because newer times soon replace one with a percentage.
 */
function isTrial(nth: number, expected: Milliseconds, { first }: PollLimits): boolean {
  if (first < expected * longWaitShare) return nth % trialEvery === trialEvery / 2;
  return nth % maxTimes === 0 && expected - first >= expected * longWaitShare;
}

/** At which age the first folios are polled for the first time, as shares of `first`. */
const firstAges = [0, 0.25, 0.5, 0.75];
/** Its multiples modulo 1 are spread evenly, however many are taken. */
const goldenRatio = 0.618034;
const trialEvery = 128;
/** How long before its expected end a trial polls a folio, as a share of its time. */
const trialShare = 0.1;

/** The time in which every open folio can be polled once, using half of the request rate. */
export function sweepTime(open: number, requestsPerSecond: number): Milliseconds {
  return (2 * open * 1000) / requestsPerSecond;
}

function approach(left: Milliseconds, stride: Milliseconds): Milliseconds {
  return left <= 2 * stride ? left : Math.min(left / 2, left - stride);
}

/**
 * The remaining time, from two estimates: the progress of the folio itself, and the times of other folios. The shorter
 * estimate counts, or the longer one if they are about equal.
 */
function timeLeft(progress: PollProgress, step: Milliseconds): Milliseconds | null {
  const own = leftByPercentage(progress);
  const others = leftByOthers(progress);
  if (own === null || others === null) return own ?? others;
  return Math.abs(own - others) <= step ? Math.max(own, others) : Math.min(own, others);
}

function leftByOthers({ last, expected }: PollProgress): Milliseconds | null {
  return expected !== null && expected > last.elapsed ? expected - last.elapsed : null;
}
