/** When to ask for a folio again: a pure function of what its polls have said so far. */
import type { Milliseconds } from '../types.js';

export interface PollProgress {
  /** Time since the folio was submitted. */
  readonly elapsed: Milliseconds;
  /** Polls made so far, this one included. */
  readonly polls: number;
  /** What the last poll said, 0 to 100, or null. */
  readonly percentage: number | null;
  /** How long the folios before it took, or null before the first. */
  readonly expected: Milliseconds | null;
}

/**
 * Waits for half of the time that seems to be left: by the folio's own percentage where it has moved, else by
 * the folios before it, else doubling from `first`. Never less than `first` nor more than `max`.
 */
export function pollDelay(
  progress: PollProgress,
  limits: { readonly first: Milliseconds; readonly max: Milliseconds },
): Milliseconds {
  const left = timeLeft(progress);
  const delay = left === null ? limits.first * 2 ** Math.min(progress.polls - 1, 30) : left / 2;
  return Math.min(Math.max(delay, limits.first), limits.max);
}

function timeLeft({ elapsed, percentage, expected }: PollProgress): Milliseconds | null {
  if (percentage !== null && percentage > 0 && percentage < 100) {
    return (elapsed * (100 - percentage)) / percentage;
  }
  if (percentage !== 100 && expected !== null && expected > elapsed) return expected - elapsed;
  return null;
}
