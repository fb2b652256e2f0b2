/** Counts how rows ended, by status and by origin (rule "Balance", docs/architecture.md#balance). */
import type { FailureReason, RowCounts } from '../checkpoint/checkpoint.js';
import { createReasonCounter } from '../failure-reasons.js';
import { type Answers, isSkipped, statusOf } from './answers.js';

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
    if (isSkipped(one)) skipped += bySource[at]!;
  }
  const { unprocessed: _, ...taken } = reused;
  return { ...all, indistinct: indistinct.size, reused: taken, duplicates, skipped };
}

/**
 * Counts why rows have no prediction.
 * @param textOf the error's text of a failed record.
 * @param show turns such a text into the one that is counted; called once for each different text.
 */
export function countReasons(
  { sources, source }: Pick<Answers, 'sources' | 'source'>,
  count: number,
  textOf: (record: number) => string,
  show: (text: string) => string,
): readonly FailureReason[] {
  const failures = failuresOf({ sources, source }, count);
  if (failures.length === 0) return [];
  const fixed = new Int32Array(sources.length);
  const texts = new Map<string, number>();
  for (const i of failures) {
    const at = source[i]!;
    if (sources[at]!.origin === 'fixed') {
      fixed[at]! += 1;
      continue;
    }
    const text = textOf(i);
    texts.set(text, (texts.get(text) ?? 0) + 1);
  }
  const counter = createReasonCounter();
  for (const [at, one] of sources.entries()) {
    if (one.origin !== 'fixed' || fixed[at] === 0) continue;
    counter.add({ code: one.code, reason: one.reason, records: fixed[at]! });
  }
  for (const [text, records] of texts) {
    counter.add({ code: 'SERVICE_FAILED', reason: show(text), records });
  }
  return counter.top();
}

/** Indexes of the records without a prediction. These are few, so the work on them is done outside this loop. */
function failuresOf({ sources, source }: Pick<Answers, 'sources' | 'source'>, count: number): number[] {
  const isFailure = Uint8Array.from(sources, (one) => (statusOf(one) === 'SUCCESSFUL' ? 0 : 1));
  const failures: number[] = [];
  if (!isFailure.includes(1)) return failures;
  for (let i = 0; i < count; i++) if (isFailure[source[i]!] === 1) failures.push(i);
  return failures;
}

/** Adds the counts of two sets of rows. */
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
