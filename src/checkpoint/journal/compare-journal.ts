/** Compares a run's journal with the database: does one of them lack paid requests that the other one has? */
import type { Statement } from 'better-sqlite3';
import type { RunRow } from '../rows/run-row.js';
import type { StateDatabase } from '../sqlite/state-database.js';
import type { FolioLine, JournalLine } from './journal-line.js';
import {
  addToSummary,
  attemptKey,
  emptySummary,
  hashPrefix,
  type JournalSummary,
  RANK,
} from './journal-summary.js';

/** A final fact about a run, which later changes never undo. */
export type Mark = 'mixed' | 'superseded' | 'pruned';

export interface Compared {
  /** What is in the journal and not in the database; empty if the database is complete. */
  readonly missing: {
    /** The number of uploads, and of the records in them. */
    uploads: number;
    records: number;
    /** The number of folios, and the newest one. */
    folios: number;
    newestFolio: string | null;
    searches: number;
    marks: readonly Mark[];
    /** The highest publication number in the journal, if the database has only lower ones; else null. */
    publication: number | null;
  };
  /**
   * Whether the journal must be written again: it lacks something that is in the database, or describes chunks that
   * differ there. A database that was restored from a backup may lack changes that cost nothing.
   */
  readonly isOutdated: boolean;
}

interface Stored {
  readonly fileName: string;
  readonly state: string;
  readonly folio: string | null;
}

/** Prepares the statements. Nobody may change the run while it is compared: its pipeline's lock is held. */
export function journalComparison(
  db: StateDatabase,
): (run: string, lines: Iterable<JournalLine>) => Compared {
  // Without the row of its chunk an upload is of no use: nobody can say which records it has sent.
  const uploadAt = db.prepare<[string, number, number], Stored>(`
    SELECT file_name AS fileName, state, folio FROM uploads
    WHERE run = ? AND chunk = ? AND attempt = ? AND (
      EXISTS (SELECT 1 FROM chunks WHERE chunks.run = uploads.run AND number = uploads.chunk)
      OR EXISTS (SELECT 1 FROM runs WHERE id = uploads.run AND pruned_at IS NOT NULL))`);
  const searchOf = db
    .prepare<[string, number], string>('SELECT state FROM searches WHERE run = ? AND record = ?')
    .pluck();
  const factsOf = factsRead(db);
  const isOutdated = journalIsOutdated(db);

  return (run, lines) => {
    const paid = { uploads: 0, records: 0, folios: 0, newestFolio: null as string | null, searches: 0 };
    const seen = emptySummary();
    const folios = new Map<number, FolioLine>();
    for (const line of lines) {
      addToSummary(seen, line);
      switch (line.type) {
        case 'intent':
          if (uploadAt.get(run, line.chunk, line.attempt)?.fileName !== line.fileName) {
            paid.uploads += 1;
            paid.records += line.records;
          }
          break;
        case 'accepted':
        case 'adopted':
          // An adopted folio may replace a lost one. Deletes the old entry, so that the newest is last in the map.
          folios.delete(attemptKey(line));
          folios.set(attemptKey(line), line);
          break;
        case 'search':
          if (searchOf.get(run, line.record) === undefined) paid.searches += 1;
          break;
        case 'searched':
          if (line.state === 'answered' && (searchOf.get(run, line.record) ?? 'answered') !== 'answered') {
            paid.searches += 1;
          }
          break;
        default:
      }
    }
    for (const { chunk, attempt, folio } of folios.values()) {
      if (uploadAt.get(run, chunk, attempt)?.folio === folio) continue;
      paid.folios += 1;
      paid.newestFolio = folio;
    }
    const facts = factsOf.get(run);
    if (facts === undefined) return { missing: { ...paid, marks: [], publication: null }, isOutdated: false };
    return { missing: { ...paid, ...marksMissing(facts, seen) }, isOutdated: isOutdated(run, facts, seen) };
  };
}

/** Whether something in the journal is missing in the database. */
export function isBehind({ missing }: Compared): boolean {
  const { uploads, folios, searches, marks, publication } = missing;
  return uploads + folios + searches + marks.length > 0 || publication !== null;
}

/** What a run's row says of what its journal repeats. */
interface RunFacts extends Pick<RunRow, 'state' | 'chunks' | 'columns' | 'round' | 'pruned_at'> {
  readonly mixed: number;
  /** The highest publication number of its pipeline, and its own; 0 if there is none. */
  readonly highest: number;
  readonly published: number;
}

/** Prepares the read of a run's row. */
export function factsRead(db: StateDatabase): Statement<[string], RunFacts> {
  const highest = 'SELECT coalesce(max(number), 0) FROM publications AS p WHERE p.pipeline = runs.pipeline';
  return db.prepare<[string], RunFacts>(`
    SELECT state, chunks, columns, round, mixed, pruned_at, (${highest}) AS highest,
      (${highest} AND p.run = runs.id) AS published
    FROM runs WHERE id = ?`);
}

function marksMissing(
  row: RunFacts,
  seen: JournalSummary,
): Pick<Compared['missing'], 'marks' | 'publication'> {
  const marks: Mark[] = [];
  if (seen.isMixed && row.mixed === 0) marks.push('mixed');
  if (seen.state === 'superseded' && row.state !== 'superseded') marks.push('superseded');
  if (seen.isPruned && row.pruned_at === null) marks.push('pruned');
  return { marks, publication: seen.publication > row.highest ? seen.publication : null };
}

const ENDED = new Set(['split', 'refused', 'unprocessed']);
const PAGE = 1_000;

function journalIsOutdated(db: StateDatabase): (run: string, row: RunFacts, seen: JournalSummary) => boolean {
  const chunks = db.prepare<[string, number, number], { number: number; sha256: string; state: string }>(`
    SELECT number, sha256, state FROM chunks WHERE run = ? AND number > ? ORDER BY number LIMIT ? + 0`);
  const uploads = db.prepare<[string, number, number], { chunk: number; attempt: number; state: string }>(`
    SELECT chunk, attempt, state FROM uploads WHERE run = ? AND chunk BETWEEN ? AND ? ORDER BY chunk, attempt`);
  const lastUpload = db
    .prepare<[string], number>('SELECT coalesce(max(chunk), 0) FROM uploads WHERE run = ?')
    .pluck();
  const searches = db.prepare<[string, number, number], { record: number; state: string }>(`
    SELECT record, state FROM searches WHERE run = ? AND record > ? ORDER BY record LIMIT ? + 0`);

  const isChunkOther = (seen: JournalSummary, row: { number: number; sha256: string; state: string }) =>
    seen.chunks.get(row.number) !== hashPrefix(row.sha256) ||
    seen.ended.get(row.number) !== (ENDED.has(row.state) ? row.state : undefined);

  return (run, row, seen) => {
    if ((row.chunks !== null) !== seen.isAllCut || row.round !== seen.round) return true;
    if (
      (row.columns !== null && row.columns !== seen.columns) ||
      (row.pruned_at !== null) !== seen.isPruned
    ) {
      return true;
    }
    if (row.state !== seen.state || (row.mixed === 1 && !seen.isMixed)) return true;
    if (row.published > seen.publication) return true;
    let count = 0;
    for (let page = chunks.all(run, 0, PAGE); page.length > 0; ) {
      if (page.some((chunk) => isChunkOther(seen, chunk))) return true;
      count += page.length;
      page = chunks.all(run, page.at(-1)!.number, PAGE);
    }
    if (count !== seen.chunks.size) return true;
    const last = lastUpload.get(run)!;
    for (let from = 1; from <= last; from += PAGE) {
      const page = uploads.all(run, from, from + PAGE - 1);
      if (page.some((one) => (seen.uploads.get(attemptKey(one)) ?? -1) < RANK[one.state]!)) return true;
    }
    for (let page = searches.all(run, 0, PAGE); page.length > 0; ) {
      if (page.some((one) => (seen.searches.get(one.record) ?? -1) < RANK[one.state]!)) return true;
      page = searches.all(run, page.at(-1)!.record, PAGE);
    }
    return false;
  };
}
