/**
 * What was sent and may have to be paid, over all runs: one entry for each attempt that the service accepted or
 * may have accepted. Invariant: a page of attempts is all that is in memory.
 */
import type { CheckpointReader, Run, Upload } from '../checkpoint/checkpoint.js';

export interface LedgerTerms {
  /** `YYYY-MM` in the time zone; without it all entries. */
  readonly month?: string;
  /** As Intl knows it. */
  readonly timeZone: string;
  readonly pricePerRecord: number | null;
}

export interface LedgerEntry {
  readonly pipeline: string;
  readonly run: string;
  readonly chunk: number;
  readonly attempt: number;
  readonly fileName: string;
  readonly folio: string | null;
  /** When the upload began, epoch milliseconds. */
  readonly at: number;
  readonly state: 'accepted' | 'ambiguous';
  /** Records sent. */
  readonly records: number;
  /** What the service counted, where it said so. */
  readonly serviceRecords: number | null;
  /** Null without a price for a record; 0 for a rehearsal. */
  readonly price: number | null;
  /** An ambiguous attempt, or an accepted one of a chunk that had an ambiguous one before. */
  readonly possiblyTwice: boolean;
  /** The local service answered this run: nothing of it is paid for (law 11). */
  readonly rehearsal: boolean;
}

export interface LedgerTotals {
  readonly uploads: number;
  /** Records sent, those of rehearsals left out. */
  readonly records: number;
  /** Of these the records of the entries that are `possiblyTwice`. */
  readonly possiblyTwice: number;
  /** Null without a price for a record. */
  readonly amount: number | null;
  readonly rehearsalRecords: number;
}

/** Entries of all runs of a pipeline, or of all pipelines, oldest run first. */
export async function* readLedger(
  checkpoint: Pick<CheckpointReader, 'runs' | 'uploads'>,
  pipeline: string | undefined,
  terms: LedgerTerms,
): AsyncGenerator<LedgerEntry> {
  const isWanted = createMonthFilter(terms);
  const runs = await checkpoint.runs(pipeline);
  for (const run of [...runs].reverse()) {
    let after = 0;
    for (;;) {
      const page = await checkpoint.uploads(run.id, after, pageChunks);
      for (const entry of ledgerEntries(run, page, terms.pricePerRecord)) if (isWanted(entry.at)) yield entry;
      const last = page.at(-1);
      if (last === undefined) break;
      after = last.chunk;
    }
  }
}

const pageChunks = 500;

/** @param uploads all attempts of some chunks, by chunk and attempt. */
export function ledgerEntries(
  run: Pick<Run, 'pipeline' | 'rehearsal'>,
  uploads: readonly Upload[],
  pricePerRecord: number | null,
): LedgerEntry[] {
  const entries: LedgerEntry[] = [];
  let inDoubt: number | undefined;
  for (const upload of uploads) {
    if (upload.state === 'dropped') continue;
    // An intent that is committed may have been sent: until its end is known it is ambiguous.
    const state = upload.state === 'accepted' ? 'accepted' : 'ambiguous';
    if (state === 'ambiguous') inDoubt = upload.chunk;
    const { chunk, attempt, fileName, folio, startedAt, records, serviceRecords } = upload;
    entries.push({
      pipeline: run.pipeline,
      run: upload.run,
      chunk,
      attempt,
      fileName,
      folio,
      at: startedAt,
      state,
      records,
      serviceRecords,
      price: priceOf(run.rehearsal ? 0 : records, pricePerRecord),
      possiblyTwice: inDoubt === chunk,
      rehearsal: run.rehearsal,
    });
  }
  return entries;
}

export function emptyTotals(pricePerRecord: number | null): LedgerTotals {
  return {
    uploads: 0,
    records: 0,
    possiblyTwice: 0,
    amount: priceOf(0, pricePerRecord),
    rehearsalRecords: 0,
  };
}

/** The totals with one entry more. */
export function addEntry(
  totals: LedgerTotals,
  { records, possiblyTwice, rehearsal }: LedgerEntry,
  pricePerRecord: number | null,
): LedgerTotals {
  const uploads = totals.uploads + 1;
  if (rehearsal) return { ...totals, uploads, rehearsalRecords: totals.rehearsalRecords + records };
  const sent = totals.records + records;
  return {
    ...totals,
    uploads,
    records: sent,
    possiblyTwice: totals.possiblyTwice + (possiblyTwice ? records : 0),
    // Of the sum, not a sum of prices: those are rounded.
    amount: priceOf(sent, pricePerRecord),
  };
}

/** Rounded to a millionth, so that no binary fraction shows. */
function priceOf(records: number, pricePerRecord: number | null): number | null {
  return pricePerRecord === null ? null : Number((records * pricePerRecord).toFixed(6));
}

function createMonthFilter({ month, timeZone }: LedgerTerms): (at: number) => boolean {
  if (month === undefined) return () => true;
  const calendar = new Intl.DateTimeFormat('en', {
    calendar: 'gregory',
    numberingSystem: 'latn',
    timeZone,
    year: 'numeric',
    month: '2-digit',
  });
  return (at) => {
    const parts = new Map(calendar.formatToParts(at).map(({ type, value }) => [type, value]));
    return `${parts.get('year')}-${parts.get('month')}` === month;
  };
}
