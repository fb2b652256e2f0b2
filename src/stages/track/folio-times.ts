/**
 * Estimates how long a folio takes: from its own percentage, and from the times that other folios took. Pure: all times
 * are ages, counted from the upload.
 */
import type { Milliseconds } from '../../types.js';

/** The progress of a folio at one poll. */
export interface Reading {
  /** Time since the folio was submitted. */
  readonly elapsed: Milliseconds;
  /** 0 to 100, or null. */
  readonly percentage: number | null;
}

/**
 * The finish of a folio may be noticed late by this share of its time. A smaller share costs more polls and gains
 * little.
 */
export const tolerance = 0.03;

/**
 * How many times are remembered: enough that a slow folio changes little, few enough to follow changes of the service.
 */
export const maxTimes = 15;

/** What the polls of a finished folio show of its time. */
export interface FolioTime {
  /** The last age at which it was not finished; 0 if it was polled once. */
  readonly after: Milliseconds;
  /** The age at which it was found finished. */
  readonly by: Milliseconds;
  /** The percentage of its last poll before that, or null. */
  readonly percentage: number | null;
}

/** Predicts, from its own percentage, the age at which an open folio will be finished; null without a prediction. */
export function predictedTime(last: Reading, before: Reading | null): FolioTime | null {
  const left = leftByPercentage({ last, before });
  return left === null ? null : { after: last.elapsed, by: last.elapsed + left, percentage: null };
}

/** Adds the time of a folio that was found finished, and keeps the newest times. */
export function rememberTime(times: readonly FolioTime[], time: FolioTime): readonly FolioTime[] {
  return [...times, time].slice(-maxTimes);
}

/**
 * The age at which a folio is best polled: as soon as possible after its end, because a poll before its end costs a
 * request, and time until the next one. At least three of four folios take this time or longer. Null if no time is
 * remembered.
 * @param pollCost the time for which one request takes up the request rate.
 */
export function expectedTime(
  times: readonly FolioTime[],
  { first }: { readonly first: Milliseconds },
  pollCost: Milliseconds,
): Milliseconds | null {
  // Where polls may be close together, an early one costs little. The folio finished slightly before its last poll:
  // without this correction each estimate would be later than the one before.
  const found = times.map(({ by }) => by * (1 - tolerance)).sort((a, b) => a - b)[times.length >> 2];
  if (found !== undefined && first < found * longWaitShare) return found;
  const ends = times.map((time) => likelyEnd(time, times)).sort((a, b) => a - b);
  const late = (age: Milliseconds): Milliseconds => {
    const step = Math.max(age * tolerance, first);
    const costs = ends.map((end) => {
      const polls = Math.max(Math.ceil((end - age) / step), 0);
      return age + polls * step - end + polls * pollCost;
    });
    return costs.reduce((sum, cost) => sum + cost, 0);
  };
  const [earliest, ...others] = ends.slice(ends.length >> 2);
  if (earliest === undefined) return null;
  return others.reduce((best, age) => (late(age) < late(best) ? age : best), earliest);
}

/** A wait of at least this share of a folio's time is worth avoiding. */
export const longWaitShare = 0.1;

/** The time of a folio: from its percentage, else the shortest time that it and the others allow. */
function likelyEnd(time: FolioTime, times: readonly FolioTime[]): Milliseconds {
  return (
    endByPercentage(time) ??
    Math.min(...times.map((other) => endByPercentage(other) ?? other.by).filter((end) => end > time.after))
  );
}

function endByPercentage({ after, by, percentage }: FolioTime): Milliseconds | null {
  // A percentage that is rounded down makes this slightly late, which costs less than a poll before the end.
  return percentage ? Math.min((100 * after) / percentage, by) : null;
}

/**
 * Estimates from the speed between the last two polls. Both must show more than 0, because it is unknown when the
 * percentage began to grow.
 */
export function leftByPercentage({
  last,
  before,
}: {
  readonly last: Reading;
  readonly before: Reading | null;
}): Milliseconds | null {
  if (last.percentage === null || last.percentage >= 100 || !before?.percentage) return null;
  const speed = (last.percentage - before.percentage) / (last.elapsed - before.elapsed);
  // No estimate is longer than twice the time that the folio has taken so far.
  return speed > 0 ? Math.min((100 - last.percentage) / speed, 2 * last.elapsed) : null;
}
