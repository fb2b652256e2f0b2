/** Counts what happened in the busiest second, wherever that begins. */

/** @param times in ms, ascending. The end of a second does not belong to it. */
export function mostInASecond(times) {
  let most = 0;
  let from = 0;
  for (let to = 0; to < times.length; to++) {
    while (times[to] - times[from] >= 1000) from++;
    most = Math.max(most, to - from + 1);
  }
  return most;
}
