/**
 * Why records of a run have no prediction: a bounded number of reasons, each with the number of its records.
 */
import type { Counts, PredictionErrorCode } from './types.js';

/** Records without a prediction, for one reason. */
export interface FailureReason {
  readonly code: PredictionErrorCode;
  /**
   * The text of the output's error column, cut to `MAX_REASON_CHARS`; null: all other reasons with this code together.
   */
  readonly reason: string | null;
  readonly records: number;
}

/** The most reasons that are kept with their texts, for a stretch and for a run. */
const MAX_REASONS = 20;
/** Longer texts are cut, because the service does not limit them. */
const MAX_REASON_CHARS = 200;

/**
 * The most reasons that are counted apart while a run is summed up: a service may write a different one for each record.
 */
const MAX_DISTINCT = 2000;

export interface ReasonCounter {
  add(reason: FailureReason): void;
  /** The most frequent reasons, at most `MAX_REASONS`; then the sums of all others, by code. */
  top(): readonly FailureReason[];
}

/** Adds up reasons in bounded memory: after `MAX_DISTINCT` different ones, new ones are counted only by their code. */
export function createReasonCounter(): ReasonCounter {
  const known = new Map<string, FailureReason>();
  const others = new Map<PredictionErrorCode, number>();
  const addOther = (code: PredictionErrorCode, records: number) =>
    others.set(code, (others.get(code) ?? 0) + records);
  return {
    add: ({ code, reason, records }) => {
      if (reason === null) return void addOther(code, records);
      const cut = cutText(reason);
      const key = `${code} ${cut}`;
      const before = known.get(key);
      if (before === undefined && known.size === MAX_DISTINCT) return void addOther(code, records);
      known.set(key, { code, reason: cut, records: records + (before?.records ?? 0) });
    },
    top: () => {
      const sorted = [...known.values()].sort(byRecords);
      const left = new Map(others);
      for (const { code, records } of sorted.slice(MAX_REASONS))
        left.set(code, (left.get(code) ?? 0) + records);
      const rest = [...left].map(([code, records]) => ({ code, reason: null, records })).sort(byRecords);
      return [...sorted.slice(0, MAX_REASONS), ...rest];
    },
  };
}

/** Cuts between characters, and not within one. */
function cutText(text: string): string {
  if (text.length <= MAX_REASON_CHARS) return text;
  return `${text.slice(0, MAX_REASON_CHARS - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/**
 * Records without a prediction whose reason is not known, because an older version has written their rows and kept none.
 */
export function withoutReason(
  { failed, unprocessed }: Pick<Counts, 'failed' | 'unprocessed'>,
  reasons: readonly FailureReason[],
): number {
  return Math.max(failed + unprocessed - reasons.reduce((sum, { records }) => sum + records, 0), 0);
}

/** The text for records without a known reason. @param prunedAt when the run's results were removed; else null. */
export function withoutReasonText({ prunedAt }: { readonly prunedAt: number | null }): string {
  return prunedAt === null
    ? 'no reason was kept (by an older version)'
    : 'the reason was removed with the results';
}

/** Also compares the texts, so that the order never depends on the order in which the reasons were found. */
function byRecords(a: FailureReason, b: FailureReason): number {
  return b.records - a.records || compare(a.code, b.code) || compare(a.reason ?? '', b.reason ?? '');
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
