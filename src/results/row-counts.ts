/** Counts how rows ended, by status and by origin (rule "Balance", docs/architecture.md#balance). */
import type { FailureReason, RowCounts } from '../checkpoint/checkpoint.js';
import { createReasonCounter } from '../failure-reasons.js';
import { type Answers, statusOf } from './answers.js';

/** The counts of no rows. */
export const noRows: RowCounts = {
  successful: 0,
  failed: 0,
  unprocessed: 0,
  indistinct: 0,
  reused: { successful: 0, failed: 0 },
  duplicates: { successful: 0, failed: 0, unprocessed: 0 },
  skipped: 0,
};

const KEYS = { SUCCESSFUL: 'successful', FAILED: 'failed', UNPROCESSED: 'unprocessed' } as const;

/** @param count number of records; the arrays of the answers may be longer. */
export function countAnswers({ sources, source, indistinct, firsts }: Answers, count: number): RowCounts {
  const bySource = new Int32Array(sources.length);
  const doublesBySource = new Int32Array(sources.length);
  for (let i = 0; i < count; i++) {
    if (firsts !== undefined && firsts[i] !== 0) doublesBySource[source[i]!]! += 1;
    else bySource[source[i]!]! += 1;
  }
  const all = { successful: 0, failed: 0, unprocessed: 0 };
  const reused = { ...all };
  const duplicates = { ...all };
  let skipped = 0;
  for (const [at, one] of sources.entries()) {
    const key = KEYS[statusOf(one)];
    all[key] += bySource[at]! + doublesBySource[at]!;
    duplicates[key] += doublesBySource[at]!;
    if (one.origin === 'reused') reused[key] += bySource[at]!;
    if (one.origin === 'fixed' && one.code === 'NOTHING_TO_SEND') skipped += bySource[at]!;
  }
  const { unprocessed: _, ...taken } = reused;
  return { ...all, indistinct: indistinct.size, reused: taken, duplicates, skipped };
}

/**
 * Counts why rows have no prediction.
 * @param textOf the error's text of a result in a table of failures. Called for failed records alone.
 */
export function countReasons(
  { sources, source, result }: Answers,
  count: number,
  textOf: (source: number, result: number) => string,
): readonly FailureReason[] {
  if (sources.every((one) => statusOf(one) === 'SUCCESSFUL')) return [];
  const isFailure = sources.map((one) => statusOf(one) !== 'SUCCESSFUL');
  const counter = createReasonCounter();
  for (let i = 0; i < count; i++) {
    const at = source[i]!;
    if (!isFailure[at]) continue;
    const one = sources[at]!;
    if (one.origin === 'fixed') counter.add({ code: one.code, reason: one.reason, records: 1 });
    else counter.add({ code: 'SERVICE_FAILED', reason: textOf(at, result[i]!), records: 1 });
  }
  return counter.top();
}

/** The counts of two sets of rows together. */
export function addCounts(a: RowCounts, b: RowCounts): RowCounts {
  return {
    successful: a.successful + b.successful,
    failed: a.failed + b.failed,
    unprocessed: a.unprocessed + b.unprocessed,
    indistinct: a.indistinct + b.indistinct,
    reused: {
      successful: a.reused.successful + b.reused.successful,
      failed: a.reused.failed + b.reused.failed,
    },
    duplicates: {
      successful: a.duplicates.successful + b.duplicates.successful,
      failed: a.duplicates.failed + b.duplicates.failed,
      unprocessed: a.duplicates.unprocessed + b.duplicates.unprocessed,
    },
    skipped: a.skipped + b.skipped,
  };
}
