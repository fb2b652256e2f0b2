/** The exit code of a complete run (README.md#exit-codes), and the texts about too many failed records. */
import type { Publication } from '../checkpoint/checkpoint.js';
import type { Config } from '../config/schema.js';
import { countOf, formatCount, formatPercent, formatShare } from '../quantities.js';
import { presentTexts } from '../text.js';
import type { Counts } from '../types.js';
import { publishedOrigins } from './origins.js';

/**
 * The counts that `failures.tolerate` judges: without the skipped records, which `source.maxRejected` limits. All other
 * functions of this file take these counts.
 */
export function judgedCounts(ended: Pick<Publication, 'counts' | 'origins'>): Counts {
  const { skipped } = publishedOrigins(ended);
  const { counts } = ended;
  return { ...counts, read: counts.read - skipped.records, failed: counts.failed - skipped.failed };
}

/**
 * 0 when nothing is UNPROCESSED and the share of FAILED among all rows of the output is tolerated, else 3.
 * @param tolerate share from 0 to 1.
 */
export function runExitCode(counts: Counts, tolerate: number): 0 | 3 {
  const rows = counts.successful + counts.failed + counts.unprocessed;
  return counts.unprocessed === 0 && isTolerated(counts.failed, rows, tolerate) ? 0 : 3;
}

/** The exit code of a run whose output is withheld. */
export const withheldExitCode = 9;

/** Whether a complete output is withheld: it would end with exit 3, and `failures.onExceeded` is `withhold`. */
export function mustWithhold(
  counts: Counts,
  { tolerate, onExceeded }: Pick<Config['failures'], 'tolerate' | 'onExceeded'>,
): boolean {
  return onExceeded === 'withhold' && runExitCode(counts, tolerate) !== 0;
}

/**
 * Why a withheld output may be published now that the config has changed.
 * @returns null if it must still be withheld.
 */
export function releaseReason(
  counts: Counts,
  failures: Pick<Config['failures'], 'tolerate' | 'onExceeded'>,
): string | null {
  if (mustWithhold(counts, failures)) return null;
  const { tolerate, onExceeded } = failures;
  return onExceeded === 'publish'
    ? 'failures.onExceeded is publish'
    : `failures.tolerate is ${formatPercent(tolerate, 3)}`;
}

/**
 * Says why a run does not end with exit 0; empty if it does.
 * @param tolerate share from 0 to 1.
 */
export function exceededReasons(
  { read, failed, unprocessed, rejected }: Counts,
  tolerate: number,
): readonly string[] {
  const records = read - rejected;
  return presentTexts([
    !isTolerated(failed, records, tolerate) && failureText(failed, records, tolerate),
    unprocessed > 0 && `${countOf(unprocessed, 'record')} ${unprocessed === 1 ? 'is' : 'are'} unprocessed`,
  ]);
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
  return `${formatCount(failed)} of ${countOf(records, 'record')} failed (${formatShare(failed, records)}), and failures.tolerate is ${formatPercent(tolerate, 3)}`;
}

/**
 * The hint to raise `failures.tolerate` to a value with which the run would go on.
 * @param newRun the command that begins a new run.
 */
export function raiseToleranceHint(run: string, failed: number, records: number, newRun: string): string {
  return `if so many may fail, foliopipe run --set failures.tolerate=${enoughTolerance(failed, records)} goes on with run ${run}; else remove the cause and start a new run, which pays again: ${newRun}`;
}

/** A value of `failures.tolerate` with which this number of failed records is tolerated, such as `14.3%`. */
export function enoughTolerance(failed: number, records: number): string {
  // Rounds up to a tenth of a percent. toFixed removes a binary fraction that would round up to the next tenth.
  return `${Math.ceil(Number(((1000 * failed) / records).toFixed(6))) / 10}%`;
}

/**
 * A value of `failures.tolerate` for a whole source, from the failures of a sample: the share of the source will differ.
 */
export function roomyTolerance(failed: number, records: number): string {
  // A quarter more, up to the next 5%.
  return `${Math.min(5 * Math.ceil((25 * failed) / records), 100)}%`;
}
