/** The balance of a run by origin, and what reuse has saved (rule "Balance", docs/architecture.md#balance). */
import type { Publication, RowCounts, Run } from '../checkpoint/checkpoint.js';
import type { Config } from '../config/schema.js';
import type { Counts, OriginCounts, Origins } from '../types.js';

/** Records that were not sent, because their answer was known. */
export interface Saved {
  readonly records: number;
  /** What they would have cost, in a rehearsal too; null without `budget.pricePerRecord`. */
  readonly amount: number | null;
  readonly currency: string;
}

/** The origins of rows that are all in the output. */
export function originsOf({ reused, duplicates, ...all }: RowCounts): Origins {
  return {
    sent: summed({
      successful: all.successful - reused.successful - duplicates.successful,
      failed: all.failed - reused.failed - duplicates.failed,
      unprocessed: all.unprocessed - duplicates.unprocessed,
    }),
    reused: summed({ ...reused, unprocessed: 0 }),
    duplicates: summed(duplicates),
  };
}

/** The origins of a publication. */
export function publishedOrigins({ origins, counts }: Pick<Publication, 'origins' | 'counts'>): Origins {
  const none = { successful: 0, failed: 0, unprocessed: 0 };
  return origins ?? { sent: summed(counts), reused: summed(none), duplicates: summed(none) };
}

/** The origins of a run that is not published yet: which records they are is decided, and some rows are written. */
export function openOrigins({ choice, source }: Pick<Run, 'choice' | 'source'>, rows: RowCounts): Origins {
  const { sent, reused, duplicates } = originsOf(rows);
  const taken = choice?.reused ?? { successful: 0, failed: 0 };
  return {
    sent: { ...sent, records: choice?.sent ?? source.records - source.rejected },
    reused: { ...reused, records: taken.successful + taken.failed },
    duplicates: { ...duplicates, records: choice?.duplicates ?? 0 },
  };
}

/** What the records cost that were not sent. */
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
