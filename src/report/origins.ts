/** The balance of a run by origin, and what reuse has saved (rule "Balance", docs/architecture.md#balance). */
import type { Publication, RowCounts, Run } from '../checkpoint/checkpoint.js';
import type { Config } from '../config/schema.js';
import type { Choice, Counts, OriginCounts, Origins, Source } from '../types.js';

/** Records that were not sent, because their answer was known. */
export interface Saved {
  readonly records: number;
  /** What they would have cost, in a rehearsal too; null without `budget.pricePerRecord`. */
  readonly amount: number | null;
  readonly currency: string;
}

/**
 * The counts of rule "Balance": `read` and `rejected` come from the check of the source, the others from merged rows.
 */
export function countsOf(
  source: Pick<Source, 'records' | 'rejected'>,
  { successful, failed, unprocessed }: Omit<Counts, 'read' | 'rejected'>,
): Counts {
  return { read: source.records, successful, failed, unprocessed, rejected: source.rejected };
}

/** The origins of rows that are all in the output. */
export function originsOf({ reused, duplicates, skipped, ...all }: RowCounts): Origins {
  return {
    sent: summed({
      successful: all.successful - reused.successful - duplicates.successful,
      failed: all.failed - reused.failed - duplicates.failed - skipped,
      unprocessed: all.unprocessed - duplicates.unprocessed,
    }),
    reused: summed({ ...reused, unprocessed: 0 }),
    duplicates: summed(duplicates),
    skipped: summed({ successful: 0, failed: skipped, unprocessed: 0 }),
  };
}

/** The origins of a publication. */
export function publishedOrigins({ origins, counts }: Pick<Publication, 'origins' | 'counts'>): Origins {
  const none = summed({ successful: 0, failed: 0, unprocessed: 0 });
  return { sent: summed(counts), reused: none, duplicates: none, skipped: none, ...origins };
}

/** The origins of a run that is not published yet. The records of each origin are decided, but not all have ended. */
export function openOrigins(run: Pick<Run, 'choice' | 'source'>, rows: RowCounts): Origins {
  const { choice, source } = run;
  const { sent, reused, duplicates, skipped } = originsOf(rows);
  const taken = choice?.reused ?? { successful: 0, failed: 0 };
  return {
    sent: { ...sent, records: recordsToSend(run) },
    reused: { ...reused, records: taken.successful + taken.failed },
    duplicates: { ...duplicates, records: choice?.duplicates ?? 0 },
    skipped: { ...skipped, records: source.blank ?? 0 },
  };
}

/** How many records a run sends, without rounds and searches. */
export function recordsToSend({
  choice,
  source,
}: {
  readonly choice: Choice | null;
  readonly source: SourceCounts;
}): number {
  return choice?.sent ?? source.records - source.rejected - (source.blank ?? 0);
}

type SourceCounts = Pick<Source, 'records' | 'rejected' | 'blank'>;

/** What the records that were not sent would have cost. */
export function savedBy(
  { reused, duplicates }: Readonly<Record<'reused' | 'duplicates', Pick<OriginCounts, 'records'>>>,
  { pricePerRecord, currency }: Pick<Config['budget'], 'pricePerRecord' | 'currency'>,
): Saved {
  const records = reused.records + duplicates.records;
  return { records, amount: priceOf(records, pricePerRecord), currency };
}

/** Rounded to a millionth, which removes binary fractions. */
export function priceOf(records: number, pricePerRecord: number | null): number | null {
  return pricePerRecord === null ? null : Number((records * pricePerRecord).toFixed(6));
}

function summed({ successful, failed, unprocessed }: Omit<Counts, 'read' | 'rejected'>): OriginCounts {
  return { records: successful + failed + unprocessed, successful, failed, unprocessed };
}
