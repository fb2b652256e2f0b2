/**
 * Decides when to poll a folio: pure functions of its progress so far, of the times that other folios took, and of the
 * number of open folios.
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

/** The progress of a folio at one poll. */
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
  /** The estimated time of a folio, from finished folios; null while there are none. */
  readonly expected: Milliseconds | null;
}

/**
 * The finish of a folio may be noticed late by this share of its time. A smaller share costs more polls and gains
 * little.
 */
const tolerance = 0.03;

/**
 * How many times are remembered: enough that a slow folio changes little, few enough to follow changes of the service.
 */
const maxTimes = 15;

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

/** The time between the upload and the first poll; 0 while the time of a folio is unknown. */
export function firstDelay(expected: Milliseconds | null, limits: PollLimits): Milliseconds {
  return expected === null ? 0 : Math.min(Math.ceil(approach(expected, limits.sweep)), limits.max);
}

/** The time in which every open folio can be polled once, using half of the request rate. */
export function sweepTime(open: number, requestsPerSecond: number): Milliseconds {
  return (2 * open * 1000) / requestsPerSecond;
}

/** Adds the time of a folio that was found finished at this age, and keeps the newest times. */
export function rememberTime(times: readonly Milliseconds[], elapsed: Milliseconds): readonly Milliseconds[] {
  // The folio finished slightly before the poll. Without this correction each estimate would be later than the one
  // before.
  return [...times, elapsed * (1 - tolerance)].slice(-maxTimes);
}

/** The lower quartile: three of four folios take at least this time. Null if no time is remembered. */
export function expectedTime(times: readonly Milliseconds[]): Milliseconds | null {
  return times.toSorted((a, b) => a - b)[times.length >> 2] ?? null;
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

/**
 * Estimates from the speed between the last two polls. Both must show more than 0, because it is unknown when the
 * percentage began to grow.
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
