/** The exit code that a publication ends with (contract, "Exit codes"): a pure decision. */
import type { Counts } from '../types.js';

/**
 * 0 when nothing is UNPROCESSED and the share of FAILED among the records sent is tolerated, else 3.
 * @param tolerate share from 0 to 1.
 */
export function runExitCode(counts: Counts, tolerate: number): 0 | 3 {
  const sent = counts.successful + counts.failed + counts.unprocessed;
  return counts.unprocessed === 0 && isTolerated(counts.failed, sent, tolerate) ? 0 : 3;
}

/** Whether so many failed of so many records sent may be. @param tolerate share from 0 to 1. */
export function isTolerated(failed: number, sent: number, tolerate: number): boolean {
  // Divided, not multiplied: 29 of 100 are 29 %, and 0.29 * 100 is less than 29.
  return failed === 0 || failed / sent <= tolerate;
}
