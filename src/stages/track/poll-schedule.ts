/**
 * When to poll a folio: pure functions of what its polls have shown, how long other folios took, and how many folios
 * are open.
 */
import type { Milliseconds } from '../../types.js';

export interface PollLimits {
  /** The shortest wait between two polls of a folio. */
  readonly first: Milliseconds;
  /** The longest wait between two polls of a folio. */
  readonly max: Milliseconds;
  /** See `sweepTime`. */
  readonly sweep: Milliseconds;
}

/** What one poll has shown of a folio's progress. */
export interface Reading {
  /** Time since the folio was submitted. */
  readonly elapsed: Milliseconds;
  /** 0 to 100, or null. */
  readonly percentage: number | null;
}

export interface PollProgress {
  readonly last: Reading;
  /** The reading before the last one, or null. */
  readonly before: Reading | null;
  /** How long a folio takes, estimated from finished ones; null while there are none. */
  readonly expected: Milliseconds | null;
}

/**
 * A finish may be noticed late by this share of the folio's time. A smaller share costs more polls and gains little.
 */
const tolerance = 0.03;

/** Folios whose times are remembered: enough to outvote slow ones, few enough to follow changes of the service. */
const remembered = 15;

/**
 * The wait after a poll. The estimated rest is halved until it is short enough for one last wait to its end. A folio
 * without an estimate, or past it, is polled each time its age has grown by the tolerance.
 */
export function pollDelay(progress: PollProgress, limits: PollLimits): Milliseconds {
  const step = Math.max(progress.last.elapsed * tolerance, limits.first);
  // The early polls of all open folios share the request rate; the last poll of a folio does not wait for that.
  const stride = Math.max(step, limits.sweep);
  const left = timeLeft(progress, step);
  const withoutEstimate = progress.expected === null ? stride : step;
  const delay = left === null ? withoutEstimate : approach(left, stride);
  return Math.min(Math.max(Math.ceil(delay), limits.first), limits.max);
}

/** The time between the upload and the first poll; 0 while it is not known how long a folio takes. */
export function firstDelay(expected: Milliseconds | null, limits: PollLimits): Milliseconds {
  return expected === null ? 0 : Math.min(Math.ceil(approach(expected, limits.sweep)), limits.max);
}

/** The time in which each open folio can be polled once with half of the request rate. */
export function sweepTime(open: number, requestsPerSecond: number): Milliseconds {
  return (2 * open * 1000) / requestsPerSecond;
}

/** The newest times, with that of a folio that was found finished at this age. */
export function rememberTime(times: readonly Milliseconds[], elapsed: Milliseconds): readonly Milliseconds[] {
  // It finished a little earlier. Without this correction each folio would be polled a little later than the last one.
  return [...times, elapsed * (1 - tolerance)].slice(-remembered);
}

/** The time that three of four folios take at least; null where none is remembered. */
export function expectedTime(times: readonly Milliseconds[]): Milliseconds | null {
  return times.toSorted((a, b) => a - b)[times.length >> 2] ?? null;
}

function approach(left: Milliseconds, stride: Milliseconds): Milliseconds {
  return left <= 2 * stride ? left : Math.min(left / 2, left - stride);
}

/**
 * Two estimates of the rest: from the folio's own progress and from the times of other folios. The shorter one counts,
 * or the longer one where they are about equal.
 */
function timeLeft(progress: PollProgress, step: Milliseconds): Milliseconds | null {
  const own = leftByPercentage(progress);
  const others = leftByOthers(progress);
  if (own === null || others === null) return own ?? others;
  return Math.abs(own - others) <= step ? Math.max(own, others) : Math.min(own, others);
}

/**
 * From the speed between two polls that both showed more than 0: when the first percentage began to grow is not known.
 */
function leftByPercentage({ last, before }: PollProgress): Milliseconds | null {
  if (last.percentage === null || last.percentage >= 100 || !before?.percentage) return null;
  const speed = (last.percentage - before.percentage) / (last.elapsed - before.elapsed);
  // No estimate is longer than twice the time that the folio has taken so far.
  return speed > 0 ? Math.min((100 - last.percentage) / speed, 2 * last.elapsed) : null;
}

function leftByOthers({ last, expected }: PollProgress): Milliseconds | null {
  return expected !== null && expected > last.elapsed ? expected - last.elapsed : null;
}
