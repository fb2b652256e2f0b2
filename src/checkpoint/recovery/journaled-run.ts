/** A run as its journal tells it: what each line has changed, put together. */
import type { Chunk, UnprocessedCause } from '../../types.js';
import type { JournalLine, NumberedFile, RunLine } from '../journal/journal-line.js';
import type { Publication, RunState, Upload } from '../state.js';
import { beginUpload, bindFolio, change, endUpload, reopen, takeBack } from './apply-uploads.js';

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
  /** Each publication that was begun: its number is taken, whether or not it came to stand in its place. */
  readonly published: readonly NumberedFile[];
  readonly finishedAt: number | null;
  readonly prunedAt: number | null;
  /** Whether any reply came from a local service. */
  readonly isRehearsal: boolean;
  /** More than one service has answered. */
  readonly isMixed: boolean;
}

/** One that is not read to its end. */
export type Building = { -readonly [K in keyof JournaledRun]: JournaledRun[K] } & {
  readonly chunks: Map<number, JournaledChunk>;
  readonly uploads: Map<string, JournaledUpload>;
  readonly searches: Map<number, JournaledSearch>;
  readonly published: NumberedFile[];
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
      run.isRehearsal = true;
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
  { type: 'published' | 'publishing' | 'done' | 'superseded' | 'pruned' | 'unpublished' | 'reopened' }
>;

function applyEnd(run: Building, line: EndLines): void {
  switch (line.type) {
    case 'published':
      run.published.push(line.file);
      return;
    case 'publishing':
      run.state = 'publishing';
      run.publication = line.publication;
      run.published.push(fileOf(line.publication));
      run.head = { ...run.head, frozen: { ...run.head.frozen, ...line.frozen } };
      return;
    case 'done':
      if (run.publication === null) return;
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

function fileOf({ number, bytes, sha256, output }: Publication): NumberedFile {
  return { number, path: output.path, bytes, sha256 };
}
