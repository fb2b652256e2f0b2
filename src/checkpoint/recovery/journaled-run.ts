/** A run as its journal tells it: what each line has changed, put together. */
import type { Chunk, UnprocessedCause } from '../../types.js';
import type { JournalLine, RunLine } from '../journal/journal-line.js';
import type { Publication, RunState, Upload } from '../state.js';

export interface JournaledChunk extends Chunk {
  readonly round: number;
  readonly numbers: readonly number[] | null;
  /** Nothing of what the service has answered: that is found in the parts. */
  state: 'cut' | 'ambiguous' | 'submitted' | 'unprocessed' | 'refused' | 'split';
  attempt: number;
  folio: string | null;
  submittedAt: number | null;
  cause: UnprocessedCause | null;
  refusal: string | null;
}

export interface JournaledUpload {
  readonly chunk: number;
  readonly attempt: number;
  readonly fileName: string;
  readonly records: number;
  readonly startedAt: number;
  readonly day: string;
  state: Upload['state'];
  folio: string | null;
  serviceRecords: number | null;
  endedAt: number | null;
  doubt: string | null;
  local: boolean | null;
}

export interface JournaledSearch {
  readonly record: number;
  readonly startedAt: number;
  readonly day: string;
  state: 'intent' | 'answered' | 'dropped' | 'ambiguous';
  values: Readonly<Record<string, string>> | null;
}

export interface JournaledRun {
  readonly head: RunLine;
  readonly chunks: ReadonlyMap<number, JournaledChunk>;
  /** By `chunk/attempt`. */
  readonly uploads: ReadonlyMap<string, JournaledUpload>;
  readonly searches: ReadonlyMap<number, JournaledSearch>;
  readonly state: RunState;
  readonly isAllCut: boolean;
  /** How many chunks a pruned run had. */
  readonly chunksOnce: number;
  readonly round: number;
  readonly columns: readonly string[] | null;
  readonly isLearned: boolean;
  readonly publication: Publication | null;
  /** Each publication that came to stand in its place, oldest first. */
  readonly published: readonly { readonly publication: Publication; readonly at: number }[];
  readonly finishedAt: number | null;
  readonly prunedAt: number | null;
  /** Whether any reply came from a local service. */
  readonly isRehearsal: boolean;
  /** More than one service has answered. */
  readonly isMixed: boolean;
}

type Building = { -readonly [K in keyof JournaledRun]: JournaledRun[K] } & {
  readonly chunks: Map<number, JournaledChunk>;
  readonly uploads: Map<string, JournaledUpload>;
  readonly searches: Map<number, JournaledSearch>;
  readonly published: { publication: Publication; at: number }[];
};

/** @param lines the run's first. */
export function readJournaledRun(lines: Iterable<JournalLine>): JournaledRun {
  let run: Building | undefined;
  for (const line of lines) {
    if (line.type === 'run') run = begun(line);
    else apply(run!, line);
  }
  return run!;
}

function begun(head: RunLine): Building {
  return {
    head,
    chunks: new Map(),
    uploads: new Map(),
    searches: new Map(),
    state: 'open',
    isAllCut: false,
    chunksOnce: 0,
    round: 0,
    columns: null,
    isLearned: false,
    publication: null,
    published: [],
    finishedAt: null,
    prunedAt: null,
    isRehearsal: false,
    isMixed: false,
  };
}

function apply(run: Building, line: Exclude<JournalLine, RunLine>): void {
  switch (line.type) {
    case 'cut': {
      const { type: _, chunk: number, ...cut } = line;
      const fresh = { attempt: 0, folio: null, submittedAt: null, cause: null, refusal: null };
      run.chunks.set(number, { number, ...cut, state: 'cut', ...fresh });
      return;
    }
    case 'intent':
      beginUpload(run, line);
      return;
    case 'accepted':
    case 'adopted':
      bindFolio(run, line);
      return;
    case 'dropped':
    case 'ambiguous':
      endUpload(run, line);
      return;
    case 'split':
      change(run, line.chunk, { state: 'split' });
      return;
    case 'refused':
      change(run, line.chunk, { state: 'refused', refusal: line.refusal });
      return;
    case 'unprocessed':
      change(run, line.chunk, { state: 'unprocessed', cause: line.cause });
      return;
    case 'all-cut':
      run.isAllCut = true;
      run.chunksOnce = line.chunks ?? 0;
      return;
    case 'search': {
      const { record, at: startedAt, day } = line;
      run.searches.set(record, { record, startedAt, day, state: 'intent', values: null });
      return;
    }
    case 'searched':
      Object.assign(run.searches.get(line.record) ?? {}, { state: line.state, values: line.values });
      return;
    case 'settled':
      run.round = line.round;
      return;
    case 'columns':
      run.columns = line.columns;
      run.isLearned = line.learned;
      return;
    case 'unjoined':
      run.columns = null;
      run.isLearned = false;
      return;
    case 'rehearsal':
      run.isRehearsal = true;
      return;
    case 'mixed':
      run.isMixed = true;
      return;
    case 'found':
      change(run, line.chunk, { state: 'submitted', cause: null });
      takeBack(run, line.chunk);
      return;
    default:
      applyEnd(run, line);
  }
}

type EndLines = Extract<
  JournalLine,
  { type: 'publishing' | 'done' | 'superseded' | 'pruned' | 'unpublished' | 'reopened' }
>;

function applyEnd(run: Building, line: EndLines): void {
  switch (line.type) {
    case 'publishing':
      run.state = 'publishing';
      run.publication = line.publication;
      run.head = { ...run.head, frozen: { ...run.head.frozen, ...line.frozen } };
      return;
    case 'done':
      if (run.publication === null) return;
      run.published.push({ publication: run.publication, at: line.at });
      if (run.publication.partial) reopen(run);
      else Object.assign(run, { state: 'done', finishedAt: line.at });
      return;
    case 'superseded':
      run.state = 'superseded';
      run.finishedAt = line.at;
      return;
    case 'pruned':
      run.prunedAt = line.at;
      return;
    case 'unpublished':
    case 'reopened':
      reopen(run);
      return;
    default:
    // Of a later foliopipe.
  }
}

function reopen(run: Building): void {
  Object.assign(run, { state: 'open', publication: null, finishedAt: null });
}

function change(run: Building, chunk: number, values: Partial<JournaledChunk>): void {
  Object.assign(run.chunks.get(chunk) ?? {}, values);
}

const keyOf = (of: { readonly chunk: number; readonly attempt: number }) => `${of.chunk}/${of.attempt}`;

/** Until the line of its end, nobody knows of it: what a kill has left is so for good. */
function beginUpload(run: Building, line: Extract<JournalLine, { type: 'intent' }>): void {
  if (run.uploads.has(keyOf(line))) return;
  const { chunk, attempt, fileName, records, at: startedAt, day } = line;
  const sent = { chunk, attempt, fileName, records, startedAt, day };
  const open = { folio: null, serviceRecords: null, endedAt: null, doubt: 'no-reply', local: null };
  run.uploads.set(keyOf(line), { ...sent, state: 'ambiguous', ...open });
  // The one whose folio the chunk has may come last, and not be its last.
  const latest = Math.max(run.chunks.get(chunk)?.attempt ?? 0, attempt);
  change(run, chunk, { state: 'ambiguous', attempt: latest, cause: null });
}

function bindFolio(run: Building, line: Extract<JournalLine, { type: 'accepted' | 'adopted' }>): void {
  const { chunk, folio, serviceRecords, rehearsal, at } = line;
  const accepted = { state: 'accepted', folio, serviceRecords, endedAt: at, doubt: null, local: rehearsal };
  Object.assign(run.uploads.get(keyOf(line)) ?? {}, accepted);
  change(run, chunk, { state: 'submitted', folio, submittedAt: at, cause: null });
  if (rehearsal) run.isRehearsal = true;
  if (line.type === 'adopted') takeBack(run, chunk);
}

/** An answer that comes late. */
function takeBack(run: Building, chunk: number): void {
  const round = run.chunks.get(chunk)?.round ?? 0;
  if (round > 0) run.round = Math.min(run.round, round - 1);
  if (run.state === 'done') reopen(run);
}

function endUpload(run: Building, line: Extract<JournalLine, { type: 'dropped' | 'ambiguous' }>): void {
  const upload = run.uploads.get(keyOf(line));
  // One that was adopted since is accepted for good.
  if (upload === undefined || upload.state === 'accepted') return;
  const doubt = line.type === 'ambiguous' ? (line.doubt ?? 'no-reply') : null;
  Object.assign(upload, { state: line.type, endedAt: line.at, doubt });
  const isDoubtful = () => {
    for (let attempt = 1; attempt <= line.attempt; attempt++) {
      if (run.uploads.get(keyOf({ chunk: line.chunk, attempt }))?.state === 'ambiguous') return true;
    }
    return false;
  };
  change(run, line.chunk, { state: isDoubtful() ? 'ambiguous' : 'cut' });
}
