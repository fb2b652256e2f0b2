/**
 * The ledger lists what was, or may have been, paid for in all runs: one entry for each upload that the service
 * accepted or may have accepted, one for the searches of a run and day, and one for each search of no run. Invariants: only one page of uploads is in
 * memory. An upload is free only if its own reply came from a local service; a request without a reply is free only if
 * all replies of its run came from one (rule "A rehearsal never looks real",
 * docs/architecture.md#a-rehearsal-never-looks-real).
 */
import type { CheckpointReader, Run, Search, SingleSearch, Upload } from '../checkpoint/checkpoint.js';
import { eachSearch, eachSingleSearch } from '../checkpoint/walk-run.js';
import type { Config } from '../config/schema.js';
import { dayOf, monthOf } from '../config/sections/calendar.js';
import { priceOf, publishedOrigins, type Saved, savedBy } from './origins.js';

/** Which part of the ledger is read. */
export interface LedgerOptions {
  /** `YYYY-MM` in the time zone. Default: all months. */
  readonly month?: string | undefined;
  /** A time zone name that Intl knows. */
  readonly timeZone: string;
  readonly pricePerRecord: number | null;
}

/** A run, or a search of no run, in the ledger. */
export interface LedgerEntry {
  readonly pipeline: string;
  /** Null for a search that belongs to no run. */
  readonly run: string | null;
  /** An upload; all single-record searches of a run on one day with the same state; or a search of no run. */
  readonly kind: 'upload' | 'search';
  /** Null for searches, like attempt and file name. */
  readonly chunk: number | null;
  readonly attempt: number | null;
  readonly fileName: string | null;
  readonly folio: string | null;
  /** When the upload, or the first search, began; epoch milliseconds. */
  readonly at: number;
  readonly state: 'accepted' | 'ambiguous';
  /** Records sent. */
  readonly records: number;
  /** The service's count; null if its reply has none. */
  readonly serviceRecords: number | null;
  /** Null without `budget.pricePerRecord`; 0 for a rehearsal. */
  readonly price: number | null;
  /** An ambiguous attempt, or an accepted one of a chunk that had an ambiguous one before. */
  readonly possiblyTwice: boolean;
  /** Whether the same chunk has another attempt that was, or may have been, accepted. */
  readonly sentAgain: boolean;
  /** A local service answered: nothing is paid for. */
  readonly rehearsal: boolean;
  /** It is of a sample (`--limit`). */
  readonly sample: boolean;
}

/** The sums of ledger entries. */
export interface LedgerTotals {
  /** All uploads. */
  readonly uploads: number;
  /** All records that were searched one by one. */
  readonly searches: number;
  /** Records sent, without rehearsals. */
  readonly records: number;
  /** How many of the records are in entries that are `possiblyTwice`. */
  readonly possiblyTwice: number;
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

type LedgerReads = Pick<CheckpointReader, 'runs' | 'uploads' | 'searches' | 'replyKinds' | 'singleSearches'>;

/** Entries of all runs of a pipeline, or of all pipelines, oldest run first; then those of searches of no run. */
export async function* readLedger(
  checkpoint: LedgerReads,
  pipeline: string | undefined,
  options: LedgerOptions,
): AsyncGenerator<LedgerEntry> {
  for await (const page of readLedgerPages(checkpoint, pipeline, options)) yield* page;
}

/** The same, many entries at once: waiting for each would take longer than reading it. No page is empty. */
export async function* readLedgerPages(
  checkpoint: LedgerReads,
  pipeline: string | undefined,
  options: LedgerOptions,
): AsyncGenerator<readonly LedgerEntry[]> {
  const isWanted = createMonthFilter(options);
  for await (const page of allPages(checkpoint, pipeline, options)) {
    const wanted = options.month === undefined ? page : page.filter(({ at }) => isWanted(at));
    if (wanted.length > 0) yield wanted;
  }
}

async function* allPages(
  checkpoint: LedgerReads,
  pipeline: string | undefined,
  options: LedgerOptions,
): AsyncGenerator<readonly LedgerEntry[]> {
  const runs = await checkpoint.runs(pipeline);
  for (const row of [...runs].reverse()) {
    const { local, other, mixed } = await checkpoint.replyKinds(row.id);
    const isSample = row.source.limit !== undefined;
    const run = { id: row.id, pipeline: row.pipeline, isLocal: local && !other && !mixed, isSample };
    let after = 0;
    for (;;) {
      const page = await checkpoint.uploads(run.id, after, pageChunks);
      yield ledgerEntries(run, page, options.pricePerRecord);
      const last = page.at(-1);
      if (last === undefined) break;
      after = last.chunk;
    }
    yield await searchEntries(checkpoint, run, options);
  }
  for await (const search of eachSingleSearch(checkpoint, pipeline)) {
    if (search.state !== 'dropped') yield [singleSearchEntry(search, options.pricePerRecord)];
  }
}

const pageChunks = 500;

/** The facts that all entries of a run share. */
export interface LedgerRun extends Pick<Run, 'id' | 'pipeline'> {
  /** Whether the run has replies, and all of them came from a local service. */
  readonly isLocal: boolean;
  readonly isSample: boolean;
}

/** @param uploads all attempts of some chunks, ordered by chunk and attempt. */
export function ledgerEntries(
  run: LedgerRun,
  uploads: readonly Upload[],
  pricePerRecord: number | null,
): LedgerEntry[] {
  const entries: LedgerEntry[] = [];
  const sent = uploads.filter(({ state }) => state !== 'dropped');
  let ambiguousChunk: number | undefined;
  for (const [index, upload] of sent.entries()) {
    // A committed intent may have been sent, so it counts as ambiguous until its outcome is known.
    const state = upload.state === 'accepted' ? 'accepted' : 'ambiguous';
    if (state === 'ambiguous') ambiguousChunk = upload.chunk;
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
      possiblyTwice: ambiguousChunk === chunk,
      sentAgain: sent[index - 1]?.chunk === chunk || sent[index + 1]?.chunk === chunk,
      rehearsal,
      sample: run.isSample,
    });
  }
  return entries;
}

/** One accepted and one ambiguous entry at most for each day with searches. */
async function searchEntries(
  checkpoint: Pick<CheckpointReader, 'searches'>,
  run: LedgerRun,
  { timeZone, pricePerRecord }: LedgerOptions,
): Promise<LedgerEntry[]> {
  const sums = new Map<string, { at: number; state: LedgerEntry['state']; records: number }>();
  for await (const { state, startedAt } of eachSearch(checkpoint, run.id)) {
    if (state === 'dropped') continue;
    const ended = searchState(state);
    const key = `${dayOf(startedAt, timeZone)} ${ended}`;
    const sum = sums.get(key) ?? { at: startedAt, state: ended, records: 0 };
    sums.set(key, { ...sum, at: Math.min(sum.at, startedAt), records: sum.records + 1 });
  }
  return [...sums.values()].map((sum) => {
    const of = { pipeline: run.pipeline, run: run.id, rehearsal: run.isLocal, sample: run.isSample };
    return searchEntry({ ...sum, ...of }, pricePerRecord);
  });
}

/** A search without a reply may have been paid for, whatever answers at the address. */
function singleSearchEntry(
  { pipeline, startedAt: at, state, local }: SingleSearch,
  pricePerRecord: number | null,
): LedgerEntry {
  const of = { pipeline, run: null, rehearsal: local === true, sample: false };
  return searchEntry({ ...of, at, state: searchState(state), records: 1 }, pricePerRecord);
}

function searchEntry(
  sum: Pick<LedgerEntry, 'pipeline' | 'run' | 'at' | 'state' | 'records' | 'rehearsal' | 'sample'>,
  pricePerRecord: number | null,
): LedgerEntry {
  const { state, records, rehearsal } = sum;
  return {
    ...sum,
    ...{ kind: 'search', chunk: null, attempt: null, fileName: null, folio: null },
    serviceRecords: state === 'accepted' ? records : null,
    price: priceOf(rehearsal ? 0 : records, pricePerRecord),
    possiblyTwice: state === 'ambiguous',
    sentAgain: false,
  };
}

/** A committed intent may have been sent, so it counts as ambiguous until its outcome is known. */
function searchState(state: Search['state']): LedgerEntry['state'] {
  return state === 'answered' ? 'accepted' : 'ambiguous';
}

/** Totals to which nothing has been added yet. */
export function emptyTotals(pricePerRecord: number | null): LedgerTotals {
  return {
    uploads: 0,
    searches: 0,
    records: 0,
    possiblyTwice: 0,
    amount: priceOf(0, pricePerRecord),
    rehearsalUploads: 0,
    rehearsalSearches: 0,
    rehearsalRecords: 0,
  };
}

/** The totals with these entries, too. */
export function addEntries(
  totals: LedgerTotals,
  entries: readonly LedgerEntry[],
  pricePerRecord: number | null,
): LedgerTotals {
  const sums = { ...totals };
  for (const { kind, records, possiblyTwice, rehearsal } of entries) {
    const uploads = kind === 'upload' ? 1 : 0;
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
    }
  }
  // Computed from the sum of records, because a sum of rounded prices would be less exact.
  return { ...sums, amount: priceOf(sums.records, pricePerRecord) };
}

function createMonthFilter({ month, timeZone }: LedgerOptions): (at: number) => boolean {
  if (month === undefined) return () => true;
  return (at) => monthOf(at, timeZone) === month;
}
