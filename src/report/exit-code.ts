/** The exit code that a publication ends with (contract, "Exit codes"): a pure decision. */
import { formatPercent } from '../quantities.js';
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

// How the guards, and exit 3, tell of too many failed records, and of the value with which a run would go on.

/** @param tolerate share from 0 to 1. */
export function failureText(failed: number, records: number, tolerate: number): string {
  const share = formatPercent(failed / records, 1);
  return `${failed} of ${records} records failed (${share}), and failures.tolerate is ${formatPercent(tolerate, 3)}`;
}

/** What to type where so many are too many. */
export function raiseHint(run: string, failed: number, records: number): string {
  // Rounded up, or it would not be enough; what a share's last bits add is no tenth of a percent.
  const enough = Math.ceil(Number(((1000 * failed) / records).toFixed(6))) / 10;
  return `set failures.tolerate to ${enough}% or more and run the same command again to go on with run ${run}, or mend the cause and begin afresh: foliopipe run --new`;
}
