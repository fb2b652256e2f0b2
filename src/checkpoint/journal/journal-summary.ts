/**
 * Sums up a journal line by line. The summary needs a few bytes for each line, so that a large journal fits into
 * memory.
 */
import type { RunState } from '../state.js';
import type { JournalLine } from './journal-line.js';

/** Progress of an upload or a search: a later state has a higher rank. */
export const RANK: Readonly<Record<string, number>> = {
  intent: 0,
  dropped: 1,
  ambiguous: 1,
  answered: 2,
  accepted: 2,
};

export interface JournalSummary {
  /** By chunk number: the first bits of its hash; and how it ended: `split`, `refused` or `unprocessed`. */
  readonly chunks: Map<number, number>;
  readonly ended: Map<number, string>;
  /** The rank of each upload, by `attemptKey`, and of each search, by record number. */
  readonly uploads: Map<number, number>;
  readonly searches: Map<number, number>;
  isAllCut: boolean;
  round: number;
  columns: string | null;
  state: RunState;
  isPartial: boolean;
  isPruned: boolean;
  isMixed: boolean;
  /** The highest publication number; 0 if there is none. */
  publication: number;
}

/** More than the attempts of any chunk. */
const ATTEMPTS_EACH = 2 ** 21;

export function emptySummary(): JournalSummary {
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

export function addToSummary(summary: JournalSummary, line: JournalLine): void {
  switch (line.type) {
    // Free, or known from the intents and replies.
    case 'run':
    case 'rehearsal':
      break;
    case 'cut':
      summary.chunks.set(line.chunk, hashPrefix(line.sha256));
      summary.ended.delete(line.chunk);
      break;
    case 'split':
    case 'refused':
    case 'unprocessed':
      summary.ended.set(line.chunk, line.type);
      break;
    case 'intent':
      raise(summary.uploads, attemptKey(line), RANK.intent!);
      summary.ended.delete(line.chunk);
      break;
    case 'accepted':
    case 'adopted':
      raise(summary.uploads, attemptKey(line), RANK.accepted!);
      summary.ended.delete(line.chunk);
      if (line.type === 'adopted') summary.state = 'open';
      break;
    case 'dropped':
    case 'ambiguous':
      raise(summary.uploads, attemptKey(line), RANK[line.type]!);
      break;
    case 'search':
      // A dropped search may be sent again.
      summary.searches.set(line.record, RANK.intent!);
      break;
    case 'searched':
      summary.searches.set(line.record, RANK[line.state]!);
      break;
    case 'all-cut':
      summary.isAllCut = true;
      break;
    case 'settled':
      summary.round = line.round;
      break;
    case 'columns':
      summary.columns = JSON.stringify(line.columns);
      break;
    case 'unjoined':
      summary.columns = null;
      break;
    case 'found':
      summary.ended.delete(line.chunk);
      summary.state = 'open';
      break;
    case 'mixed':
      summary.isMixed = true;
      break;
    case 'published':
      summary.publication = Math.max(summary.publication, line.file.number);
      break;
    case 'pruned':
      summary.isPruned = true;
      break;
    case 'publishing':
      summary.state = 'publishing';
      summary.isPartial = line.publication.partial;
      summary.publication = Math.max(summary.publication, line.publication.number);
      break;
    case 'done':
      summary.state = summary.isPartial ? 'open' : 'done';
      break;
    case 'confirmed':
      summary.state = 'done';
      break;
    case 'withheld':
    case 'superseded':
      summary.state = line.type;
      break;
    case 'unpublished':
    case 'reopened':
      summary.state = 'open';
      break;
    default:
      // Lines of later versions are skipped; the compiler finds a type of this version that is missing here.
      line satisfies never;
  }
}

/** A number that identifies an upload attempt of a run. */
export const attemptKey = ({ chunk, attempt }: { readonly chunk: number; readonly attempt: number }) =>
  chunk * ATTEMPTS_EACH + attempt;

function raise(ranks: Map<number, number>, key: number, rank: number): void {
  if ((ranks.get(key) ?? -1) < rank) ranks.set(key, rank);
}

/** The first 48 bits of a hash in hex, as an exact number. */
export const hashPrefix = (sha256: string) => Number.parseInt(sha256.slice(0, 12), 16);
