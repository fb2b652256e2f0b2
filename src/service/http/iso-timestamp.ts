/** Timestamps as the interface shows them, 2.1: ISO 8601, milliseconds, an explicit UTC offset. */

/** @param at milliseconds since the epoch. */
export function isoTimestamp(at: number): string {
  return new Date(at).toISOString().replace('Z', '+00:00');
}
