/** The exit code of a publication (README.md#exit-codes), and the texts about too many failed records. */
import { formatPercent } from '../quantities.js';
import type { Counts } from '../types.js';

/**
 * 0 when nothing is UNPROCESSED and the share of FAILED among all rows of the output is tolerated, else 3.
 * @param tolerate share from 0 to 1.
 */
export function runExitCode(counts: Counts, tolerate: number): 0 | 3 {
  const rows = counts.successful + counts.failed + counts.unprocessed;
  return counts.unprocessed === 0 && isTolerated(counts.failed, rows, tolerate) ? 0 : 3;
}

/**
 * Whether the share of failed records is tolerated.
 * @param records all that are judged: rows of the output, or records of a chunk.
 * @param tolerate share from 0 to 1.
 */
export function isTolerated(failed: number, records: number, tolerate: number): boolean {
  // Divides the counts instead of multiplying the share, because 0.29 * 100 is less than 29.
  return failed === 0 || failed / records <= tolerate;
}

/**
 * Says how many records failed and how many are tolerated.
 * @param tolerate share from 0 to 1.
 */
export function failureText(failed: number, records: number, tolerate: number): string {
  const share = formatPercent(failed / records, 1);
  return `${failed} of ${records} records failed (${share}), and failures.tolerate is ${formatPercent(tolerate, 3)}`;
}

/** The hint to raise `failures.tolerate` to a value with which the run would go on. */
export function raiseToleranceHint(run: string, failed: number, records: number): string {
  // Rounds up to a tenth of a percent. toFixed removes a binary fraction that would round up to the next tenth.
  const enough = Math.ceil(Number(((1000 * failed) / records).toFixed(6))) / 10;
  return `set failures.tolerate to ${enough}% or more and run the same command again to go on with run ${run}, or remove the cause and start a new run: foliopipe run --new`;
}
