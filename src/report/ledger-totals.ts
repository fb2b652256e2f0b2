/** The sums of the ledger: what its lines add up to, and what was not paid for because its answer was known. */
import type { Run } from '../checkpoint/checkpoint.js';
import type { Config } from '../config/schema.js';
import { createMonthFilter, type LedgerEntry, type LedgerOptions, type LedgerSum } from './ledger.js';
import { priceOf, publishedOrigins, type Saved, savedBy } from './origins.js';

/** What the lines of a ledger add up to. */
export interface LedgerTotals {
  /** All uploads. */
  readonly uploads: number;
  /** All records that were searched one by one. */
  readonly searches: number;
  /** Records sent, without rehearsals. */
  readonly records: number;
  /** How many of the records are in entries that are `possiblyTwice`. */
  readonly possiblyTwice: number;
  /** How many of these are in requests that may not have been accepted: they may be paid for twice or in vain. */
  readonly ambiguous: number;
  /** Null without `budget.pricePerRecord`. */
  readonly amount: number | null;
  /** How many of the uploads, and of the searches, were answered by a local service; and the records of both. */
  readonly rehearsalUploads: number;
  readonly rehearsalSearches: number;
  readonly rehearsalRecords: number;
}

/** Records that published and confirmed runs did not pay for, because their answer was known. */
export interface LedgerReuse {
  readonly reused: number;
  readonly duplicates: number;
  readonly saved: Saved;
}

/** Adds up what runs did not pay for. A run belongs to the month in which it began. Rehearsals save nothing. */
export function ledgerReuse(
  runs: readonly Run[],
  options: LedgerOptions & Pick<Config['budget'], 'currency'>,
): LedgerReuse {
  const isWanted = createMonthFilter(options);
  const counted = runs.flatMap(({ createdAt, publication, confirmed, rehearsal }) => {
    const ended = publication ?? confirmed;
    return ended === null || rehearsal || !isWanted(createdAt) ? [] : [publishedOrigins(ended)];
  });
  const reused = counted.reduce((sum, origins) => sum + origins.reused.records, 0);
  const duplicates = counted.reduce((sum, origins) => sum + origins.duplicates.records, 0);
  const saved = savedBy({ reused: { records: reused }, duplicates: { records: duplicates } }, options);
  return { reused, duplicates, saved };
}

/** Totals to which nothing has been added yet. */
export function emptyTotals(pricePerRecord: number | null): LedgerTotals {
  return {
    uploads: 0,
    searches: 0,
    records: 0,
    possiblyTwice: 0,
    ambiguous: 0,
    amount: priceOf(0, pricePerRecord),
    rehearsalUploads: 0,
    rehearsalSearches: 0,
    rehearsalRecords: 0,
  };
}

/** @returns the totals with these lines added. */
export function addEntries(
  totals: LedgerTotals,
  lines: readonly (LedgerEntry | LedgerSum)[],
  pricePerRecord: number | null,
): LedgerTotals {
  const sums = { ...totals };
  for (const line of lines) {
    const { kind, records, possiblyTwice, rehearsal } = line;
    const isAmbiguous = kind !== 'uploads' && line.state === 'ambiguous';
    const uploads = kind === 'uploads' ? line.uploads : kind === 'upload' ? 1 : 0;
    const searches = kind === 'search' ? records : 0;
    sums.uploads += uploads;
    sums.searches += searches;
    if (rehearsal) {
      sums.rehearsalUploads += uploads;
      sums.rehearsalSearches += searches;
      sums.rehearsalRecords += records;
    } else {
      sums.records += records;
      if (possiblyTwice) sums.possiblyTwice += records;
      if (isAmbiguous) sums.ambiguous += records;
    }
  }
  // Computed from the sum of records, because a sum of rounded prices would be less exact.
  return { ...sums, amount: priceOf(sums.records, pricePerRecord) };
}
