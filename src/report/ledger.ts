/**
 * The ledger lists what was, or may have been, paid for in all runs: one entry for each upload that the service
 * accepted or may have accepted, one for the searches of a run and day, and one for each search of no run. Invariants:
 * only one page of uploads is in memory. An upload is free only if its own reply came from a local service; a request
 * without a reply is free only if all replies of its run came from one (rule "A rehearsal never looks real",
 * docs/architecture.md#a-rehearsal-never-looks-real).
 */
import type {
  CheckpointReader,
  Run,
  Search,
  SingleSearch,
  Upload,
  UploadSum,
} from '../checkpoint/checkpoint.js';
import { eachSearch, eachSingleSearch, pagesOf } from '../checkpoint/walk-run.js';
import { dayOf, monthOf } from '../config/sections/calendar.js';
import { priceOf } from './origins.js';

/** Which part of the ledger is read. */
export interface LedgerOptions {
  /** `YYYY-MM` in the time zone. Default: all months. */
  readonly month?: string | undefined;
  /** A time zone name that Intl knows. */
  readonly timeZone: string;
  readonly pricePerRecord: number | null;
}

/** A line of the ledger: what `kind` says. */
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
  /** Whether a local service answered: nothing is paid for. */
  readonly rehearsal: boolean;
  /** Whether it belongs to a sample (`--limit`). */
  readonly sample: boolean;
}

/**
 * The sum of a run's plain uploads: each was accepted at the first attempt and never sent again, and the service counted
 * as many records as were sent, or gave no count.
 */
export interface LedgerSum
  extends Pick<LedgerEntry, 'pipeline' | 'at' | 'records' | 'price' | 'rehearsal' | 'sample'> {
  readonly run: string;
  readonly kind: 'uploads';
  readonly uploads: number;
  readonly possiblyTwice: false;
}

type LedgerReads = Pick<CheckpointReader, 'runs' | 'uploads' | 'searches' | 'replyKinds' | 'singleSearches'>;
type SumReads = LedgerReads & Pick<CheckpointReader, 'uploadSums' | 'unusualUploads'>;

/** Entries of all runs of a pipeline, or of all pipelines, oldest run first; then those of searches of no run. */
export async function* readLedger(
  checkpoint: LedgerReads,
  pipeline: string | undefined,
  options: LedgerOptions,
): AsyncGenerator<LedgerEntry> {
  for await (const page of readLedgerPages(checkpoint, pipeline, options)) yield* page;
}

/** The same in pages, none of them empty: to wait for each entry would take longer than to read it. */
export async function* readLedgerPages(
  checkpoint: LedgerReads,
  pipeline: string | undefined,
  options: LedgerOptions,
): AsyncGenerator<readonly LedgerEntry[]> {
  const linesOf = (run: LedgerRun) => uploadEntries(checkpoint, run, options);
  yield* wantedPages(allPages(checkpoint, pipeline, options, linesOf), options);
}

/**
 * The same, except that the plain uploads of a run, if it has more than `listed`, are summed up: in one line, or in two if
 * a local service answered some of them. This takes a fraction of the time, and the totals are the same.
 */
export async function* readLedgerSums(
  checkpoint: SumReads,
  pipeline: string | undefined,
  options: LedgerOptions,
  listed: number,
): AsyncGenerator<readonly (LedgerEntry | LedgerSum)[]> {
  const { month, timeZone, pricePerRecord } = options;
  const isOneMonth = ({ firstAt, lastAt }: UploadSum) =>
    monthOf(firstAt, timeZone) === monthOf(lastAt, timeZone);
  async function* linesOf(run: LedgerRun): AsyncGenerator<readonly (LedgerEntry | LedgerSum)[]> {
    const sums = await checkpoint.uploadSums(run.id);
    const uploads = sums.reduce((sum, one) => sum + one.uploads, 0);
    // Of a run that goes past the end of the month, only some uploads are wanted.
    if (uploads > listed && (month === undefined || sums.every(isOneMonth))) {
      yield sums.map((sum) => ledgerSum(run, sum, pricePerRecord));
      yield* uploadEntries({ uploads: (...page) => checkpoint.unusualUploads(...page) }, run, options);
    } else yield* uploadEntries(checkpoint, run, options);
  }
  yield* wantedPages(allPages(checkpoint, pipeline, options, linesOf), options);
}

async function* wantedPages<Line extends { readonly at: number }>(
  pages: AsyncIterable<readonly Line[]>,
  options: LedgerOptions,
): AsyncGenerator<readonly Line[]> {
  const isWanted = createMonthFilter(options);
  for await (const page of pages) {
    const wanted = options.month === undefined ? page : page.filter(({ at }) => isWanted(at));
    if (wanted.length > 0) yield wanted;
  }
}

/** @param linesOf gives the lines of a run's uploads. */
async function* allPages<Line>(
  checkpoint: LedgerReads,
  pipeline: string | undefined,
  options: LedgerOptions,
  linesOf: (run: LedgerRun) => AsyncIterable<readonly Line[]>,
): AsyncGenerator<readonly (LedgerEntry | Line)[]> {
  const runs = await checkpoint.runs(pipeline);
  for (const row of [...runs].reverse()) {
    const { local, other, mixed } = await checkpoint.replyKinds(row.id);
    const isSample = row.source.limit !== undefined;
    const run = { id: row.id, pipeline: row.pipeline, isLocal: local && !other && !mixed, isSample };
    yield* linesOf(run);
    yield await searchEntries(checkpoint, run, options);
  }
  for await (const search of eachSingleSearch(checkpoint, pipeline)) {
    if (search.state !== 'dropped') yield [singleSearchEntry(search, options.pricePerRecord)];
  }
}

async function* uploadEntries(
  checkpoint: Pick<CheckpointReader, 'uploads'>,
  run: LedgerRun,
  { pricePerRecord }: LedgerOptions,
): AsyncGenerator<readonly LedgerEntry[]> {
  const read = (after: number, chunks: number) => checkpoint.uploads(run.id, after, chunks);
  for await (const page of pagesOf(0, ({ chunk }) => chunk, read)) {
    yield ledgerEntries(run, page, pricePerRecord);
  }
}

/** The facts that all entries of a run share. */
interface LedgerRun extends Pick<Run, 'id' | 'pipeline'> {
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

function ledgerSum(
  { id: run, pipeline, isSample: sample }: LedgerRun,
  { local: rehearsal, uploads, records, firstAt: at }: UploadSum,
  pricePerRecord: number | null,
): LedgerSum {
  const price = priceOf(rehearsal ? 0 : records, pricePerRecord);
  return {
    pipeline,
    run,
    kind: 'uploads',
    at,
    uploads,
    records,
    price,
    possiblyTwice: false,
    rehearsal,
    sample,
  };
}

/** At most one accepted and one ambiguous entry for each day with searches. */
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
    const owner = { pipeline: run.pipeline, run: run.id, rehearsal: run.isLocal, sample: run.isSample };
    return searchEntry({ ...sum, ...owner }, pricePerRecord);
  });
}

/** A search without a reply may have been paid for, whatever answers at the address. */
function singleSearchEntry(
  { pipeline, startedAt: at, state, local }: SingleSearch,
  pricePerRecord: number | null,
): LedgerEntry {
  const owner = { pipeline, run: null, rehearsal: local === true, sample: false };
  return searchEntry({ ...owner, at, state: searchState(state), records: 1 }, pricePerRecord);
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

/** Tells whether a time is in the month that is read. */
export function createMonthFilter({ month, timeZone }: LedgerOptions): (at: number) => boolean {
  if (month === undefined) return () => true;
  return (at) => monthOf(at, timeZone) === month;
}
