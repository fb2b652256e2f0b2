/** What of a run a journal has told so far: little is kept for each line. */
import type { RunState } from '../state.js';
import type { JournalLine } from './journal-line.js';

/** How far an upload or a search has come: a later state of the same one is greater. */
export const RANK: Readonly<Record<string, number>> = {
  intent: 0,
  dropped: 1,
  ambiguous: 1,
  answered: 2,
  accepted: 2,
};

/** What is kept of the journal while it is read: little for each line. */
export interface Seen {
  /** The beginning of its hash, and whether it is split, refused or given up, by chunk. */
  readonly chunks: Map<number, number>;
  readonly ended: Map<number, string>;
  /** Ranks by attempt, and by searched record. */
  readonly uploads: Map<number, number>;
  readonly searches: Map<number, number>;
  isAllCut: boolean;
  round: number;
  columns: string | null;
  state: RunState;
  isPartial: boolean;
  isPruned: boolean;
  isMixed: boolean;
  /** The highest of its publications; 0 where there is none. */
  publication: number;
}

const ATTEMPTS_EACH = 2 ** 21;

export function nothingSeen(): Seen {
  return {
    chunks: new Map(),
    ended: new Map(),
    uploads: new Map(),
    searches: new Map(),
    isAllCut: false,
    round: 0,
    columns: null,
    state: 'open',
    isPartial: false,
    isPruned: false,
    isMixed: false,
    publication: 0,
  };
}

export function look(seen: Seen, line: JournalLine): void {
  switch (line.type) {
    case 'cut':
      seen.chunks.set(line.chunk, beginningOf(line.sha256));
      seen.ended.delete(line.chunk);
      break;
    case 'split':
    case 'refused':
    case 'unprocessed':
      seen.ended.set(line.chunk, line.type);
      break;
    case 'intent':
      raise(seen.uploads, keyOf(line), RANK.intent!);
      seen.ended.delete(line.chunk);
      break;
    case 'accepted':
    case 'adopted':
      raise(seen.uploads, keyOf(line), RANK.accepted!);
      seen.ended.delete(line.chunk);
      if (line.type === 'adopted') seen.state = 'open';
      break;
    case 'dropped':
    case 'ambiguous':
      raise(seen.uploads, keyOf(line), RANK[line.type]!);
      break;
    case 'search':
      // One that was dropped is asked again.
      seen.searches.set(line.record, RANK.intent!);
      break;
    case 'searched':
      seen.searches.set(line.record, RANK[line.state]!);
      break;
    case 'all-cut':
      seen.isAllCut = true;
      break;
    case 'settled':
      seen.round = line.round;
      break;
    case 'columns':
      seen.columns = JSON.stringify(line.columns);
      break;
    case 'unjoined':
      seen.columns = null;
      break;
    case 'found':
      seen.ended.delete(line.chunk);
      seen.state = 'open';
      break;
    case 'mixed':
      seen.isMixed = true;
      break;
    case 'published':
      seen.publication = Math.max(seen.publication, line.file.number);
      break;
    case 'pruned':
      seen.isPruned = true;
      break;
    case 'publishing':
      seen.state = 'publishing';
      seen.isPartial = line.publication.partial;
      seen.publication = Math.max(seen.publication, line.publication.number);
      break;
    case 'done':
      seen.state = seen.isPartial ? 'open' : 'done';
      break;
    case 'superseded':
      seen.state = 'superseded';
      break;
    case 'unpublished':
    case 'reopened':
      seen.state = 'open';
      break;
    default:
  }
}

export const keyOf = ({ chunk, attempt }: { readonly chunk: number; readonly attempt: number }) =>
  chunk * ATTEMPTS_EACH + attempt;

function raise(ranks: Map<number, number>, key: number, rank: number): void {
  if ((ranks.get(key) ?? -1) < rank) ranks.set(key, rank);
}

/** Of a hash in hex, as a number that is exact. */
export const beginningOf = (sha256: string) => Number.parseInt(sha256.slice(0, 12), 16);
