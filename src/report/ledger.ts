/**
 * What was sent and may have to be paid, over all runs: one entry for each attempt that the service accepted or
 * may have accepted, and one a run and day for its searches. Invariants: a page of attempts is all that is in memory;
 * an upload is free only where its own reply came from a local service, and what has no reply of its own only where
 * all replies of its run did (law 11).
 */
import type { CheckpointReader, Run, Search, Upload } from '../checkpoint/checkpoint.js';
import { eachSearch } from '../checkpoint/walk-run.js';
import { dayOf, monthOf } from '../config/calendar.js';

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
  /** An upload, or all single-record searches of a run on one day that ended alike. */
  readonly kind: 'upload' | 'search';
  /** Null of searches, as are attempt and file. */
  readonly chunk: number | null;
  readonly attempt: number | null;
  readonly fileName: string | null;
  readonly folio: string | null;
  /** When the upload, or the first of the searches, began, epoch milliseconds. */
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
  /** Whether the same chunk has another attempt that was, or may have been, accepted. */
  readonly sentAgain: boolean;
  /** A local service answered: nothing is paid for. */
  readonly rehearsal: boolean;
}

export interface LedgerTotals {
  readonly uploads: number;
  /** Records that were searched one by one, those of rehearsals left out. */
  readonly searches: number;
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
  checkpoint: Pick<CheckpointReader, 'runs' | 'uploads' | 'searches' | 'replyKinds'>,
  pipeline: string | undefined,
  terms: LedgerTerms,
): AsyncGenerator<LedgerEntry> {
  const isWanted = createMonthFilter(terms);
  const runs = await checkpoint.runs(pipeline);
  for (const row of [...runs].reverse()) {
    const { local, other, mixed } = await checkpoint.replyKinds(row.id);
    const run = { id: row.id, pipeline: row.pipeline, isLocal: local && !other && !mixed };
    let after = 0;
    for (;;) {
      const page = await checkpoint.uploads(run.id, after, pageChunks);
      for (const entry of ledgerEntries(run, page, terms.pricePerRecord)) if (isWanted(entry.at)) yield entry;
      const last = page.at(-1);
      if (last === undefined) break;
      after = last.chunk;
    }
    for (const entry of await searchEntries(checkpoint, run, terms)) if (isWanted(entry.at)) yield entry;
  }
}

const pageChunks = 500;

/** What the entries of a run share. */
export interface LedgerRun extends Pick<Run, 'id' | 'pipeline'> {
  /** Whether all its replies came from a local service, and there are any. */
  readonly isLocal: boolean;
}

/** @param uploads all attempts of some chunks, by chunk and attempt. */
export function ledgerEntries(
  run: LedgerRun,
  uploads: readonly Upload[],
  pricePerRecord: number | null,
): LedgerEntry[] {
  const entries: LedgerEntry[] = [];
  const sent = uploads.filter(({ state }) => state !== 'dropped');
  let inDoubt: number | undefined;
  for (const [at, upload] of sent.entries()) {
    // An intent that is committed may have been sent: until its end is known it is ambiguous.
    const state = upload.state === 'accepted' ? 'accepted' : 'ambiguous';
    if (state === 'ambiguous') inDoubt = upload.chunk;
    const { chunk, attempt, fileName, folio, startedAt, records, serviceRecords } = upload;
    const rehearsal = state === 'accepted' ? upload.local === true : run.isLocal;
    entries.push({
      pipeline: run.pipeline,
      run: run.id,
      kind: 'upload',
      chunk,
      attempt,
      fileName,
      folio,
      at: startedAt,
      state,
      records,
      serviceRecords,
      price: priceOf(rehearsal ? 0 : records, pricePerRecord),
      possiblyTwice: inDoubt === chunk,
      sentAgain: sent[at - 1]?.chunk === chunk || sent[at + 1]?.chunk === chunk,
      rehearsal,
    });
  }
  return entries;
}

/** Few: one a day on which the run has searched, and one more where nobody knows whether a search counted. */
async function searchEntries(
  checkpoint: Pick<CheckpointReader, 'searches'>,
  run: LedgerRun,
  { timeZone, pricePerRecord }: LedgerTerms,
): Promise<LedgerEntry[]> {
  const sums = new Map<string, { at: number; state: LedgerEntry['state']; records: number }>();
  for await (const { state, startedAt } of eachSearch(checkpoint, run.id)) {
    if (state === 'dropped') continue;
    const ended = stateOfSearch(state);
    const key = `${dayOf(startedAt, timeZone)} ${ended}`;
    const sum = sums.get(key) ?? { at: startedAt, state: ended, records: 0 };
    sums.set(key, { ...sum, at: Math.min(sum.at, startedAt), records: sum.records + 1 });
  }
  return [...sums.values()].map(({ at, state, records }) => ({
    ...{ pipeline: run.pipeline, run: run.id, kind: 'search' as const, at, state, records },
    ...{ chunk: null, attempt: null, fileName: null, folio: null },
    serviceRecords: state === 'accepted' ? records : null,
    price: priceOf(run.isLocal ? 0 : records, pricePerRecord),
    possiblyTwice: state === 'ambiguous',
    sentAgain: false,
    rehearsal: run.isLocal,
  }));
}

/** An intent that is committed may have been sent: until its end is known it is ambiguous. */
function stateOfSearch(state: Search['state']): LedgerEntry['state'] {
  return state === 'answered' ? 'accepted' : 'ambiguous';
}

export function emptyTotals(pricePerRecord: number | null): LedgerTotals {
  return {
    uploads: 0,
    searches: 0,
    records: 0,
    possiblyTwice: 0,
    amount: priceOf(0, pricePerRecord),
    rehearsalRecords: 0,
  };
}

/** The totals with one entry more. */
export function addEntry(
  totals: LedgerTotals,
  { kind, records, possiblyTwice, rehearsal }: LedgerEntry,
  pricePerRecord: number | null,
): LedgerTotals {
  const uploads = totals.uploads + (kind === 'upload' ? 1 : 0);
  if (rehearsal) return { ...totals, uploads, rehearsalRecords: totals.rehearsalRecords + records };
  const sent = totals.records + records;
  return {
    ...totals,
    uploads,
    searches: totals.searches + (kind === 'search' ? records : 0),
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
  return (at) => monthOf(at, timeZone) === month;
}
