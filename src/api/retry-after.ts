/** Reads the Retry-After header (RFC 9110, section 10.2.3). */
import type { Milliseconds } from '../types.js';

/**
 * @param value the header: seconds, or an HTTP date.
 * @param now epoch milliseconds.
 * @returns the time to wait, or null where the header is missing or says nothing.
 */
export function parseRetryAfter(value: string | undefined, now: number): Milliseconds | null {
  const text = value?.trim() ?? '';
  if (/^\d+$/.test(text)) {
    return Number(text) * 1000;
  }
  const date = /^[A-Z][a-z]+, .+ GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}
