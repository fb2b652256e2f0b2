/** When to ask for a folio: pure functions of what it has said, how long others took, and how many are open. */
import type { Milliseconds } from '../../types.js';

export interface PollLimits {
  /** Never less between two polls of a folio. */
  readonly first: Milliseconds;
  /** Never more. */
  readonly max: Milliseconds;
  /** See `sweepTime`. */
  readonly sweep: Milliseconds;
}

/** What a poll said of a folio's progress. */
export interface Reading {
  /** Time since the folio was submitted. */
  readonly elapsed: Milliseconds;
  /** 0 to 100, or null. */
  readonly percentage: number | null;
}

export interface PollProgress {
  readonly last: Reading;
  /** The one before it, or null. */
  readonly before: Reading | null;
  /** How long a folio takes, by those before it; null while nothing is known. */
  readonly expected: Milliseconds | null;
}

/** A finish may be noticed too late by this share of the folio's time; what is more exact only costs polls. */
const tolerance = 0.03;

/** Folios whose times are remembered: enough that slow ones are outvoted, few enough to follow the service. */
const remembered = 15;

/**
 * The wait after a poll. What seems to be left is halved until the rest is worth one wait, to its very end. A
 * folio of which nothing is known, or that is overdue, is asked each time it has grown older by the tolerance.
 */
export function pollDelay(progress: PollProgress, limits: PollLimits): Milliseconds {
  const step = Math.max(progress.last.elapsed * tolerance, limits.first);
  // The looks on the way are spread so that all open folios may have theirs; the last ones are not.
  const stride = Math.max(step, limits.sweep);
  const left = timeLeft(progress, step);
  const blind = progress.expected === null ? stride : step;
  const delay = left === null ? blind : approach(left, stride);
  return Math.min(Math.max(Math.ceil(delay), limits.first), limits.max);
}

/** The time between the upload and the first poll; none before it is known that a folio takes any. */
export function firstDelay(expected: Milliseconds | null, limits: PollLimits): Milliseconds {
  return expected === null ? 0 : Math.min(Math.ceil(approach(expected, limits.sweep)), limits.max);
}

/** The time in which each open folio can be asked once while half of the requests are left to all others. */
export function sweepTime(open: number, requestsPerSecond: number): Milliseconds {
  return (2 * open * 1000) / requestsPerSecond;
}

/** The newest times, with that of a folio that was found finished when it was so old. */
export function rememberTime(times: readonly Milliseconds[], elapsed: Milliseconds): readonly Milliseconds[] {
  // It was finished a little before. Were that left out, each folio would be asked a little later than the last.
  return [...times, elapsed * (1 - tolerance)].slice(-remembered);
}

/** What three of four folios take at least; null where none is remembered. */
export function expectedTime(times: readonly Milliseconds[]): Milliseconds | null {
  return times.toSorted((a, b) => a - b)[times.length >> 2] ?? null;
}

function approach(left: Milliseconds, stride: Milliseconds): Milliseconds {
  return left <= 2 * stride ? left : Math.min(left / 2, left - stride);
}

/** The sooner of the folio's own word and that of the others; the later where they mean about the same. */
function timeLeft(progress: PollProgress, step: Milliseconds): Milliseconds | null {
  const own = leftByPercentage(progress);
  const others = leftByOthers(progress);
  if (own === null || others === null) return own ?? others;
  return Math.abs(own - others) <= step ? Math.max(own, others) : Math.min(own, others);
}

/** By the speed between two polls that said more than 0: it is not known since when the first has been moving. */
function leftByPercentage({ last, before }: PollProgress): Milliseconds | null {
  if (last.percentage === null || last.percentage >= 100 || !before?.percentage) return null;
  const speed = (last.percentage - before.percentage) / (last.elapsed - before.elapsed);
  // No folio's word is taken for longer than it has lasted.
  return speed > 0 ? Math.min((100 - last.percentage) / speed, 2 * last.elapsed) : null;
}

function leftByOthers({ last, expected }: PollProgress): Milliseconds | null {
  return expected !== null && expected > last.elapsed ? expected - last.elapsed : null;
}
