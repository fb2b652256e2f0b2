/** Checks whether the payments in the damaged lines of a run's journal are known to the database. */
import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { factsRead } from '../journal/compare-journal.js';
import type { JournalLine } from '../journal/journal-line.js';
import type { StateDatabase } from '../sqlite/state-database.js';

export interface DamagedLine {
  readonly line: number;
  readonly text: string;
}

/** Lines of these types describe no payment, only changes that can be repeated for free. */
const FREE: ReadonlySet<string> = new Set<JournalLine['type']>([
  'run',
  'cut',
  'split',
  'refused',
  'unprocessed',
  'all-cut',
  'settled',
  'columns',
  'found',
  'unjoined',
  'rehearsal',
  'done',
  'withheld',
  'confirmed',
  'unpublished',
  'reopened',
]);

const TYPE = /^\{"type":"([a-z-]+)"[,}]/;
const UPLOAD = /"chunk":(\d+),"attempt":(\d+)[,}]/;
const SEARCH = /"record":(\d+),(?:"at":(\d+),)?/;
const NUMBER = /"number":(\d+)[,}]/g;
/** Characters that an undamaged line never contains: control characters, and bytes that are not UTF-8. */
const NEVER_WRITTEN = /[\p{Cc}\uFFFD]/gu;
/** One damaged character of four bytes becomes at most this many replacement characters. */
const MAX_OF_ONE_CHARACTER = 4;
const CHUNK_FILE = /^(?:chunk|part)-(\d+)/;

/**
 * Prepares the statements. No pipeline may be running meanwhile.
 * @returns a function that says why a journal with these damaged lines may know more than the database; null if it
 *   cannot.
 */
export function damageCheck(
  db: StateDatabase,
): (run: string, journal: string, damaged: readonly DamagedLine[]) => string | null {
  const isKnown = lineCheck(db);
  const hasChunk = db.prepare<{ run: string; chunk: number }>(`
    SELECT 1 FROM chunks WHERE run = @run AND number = @chunk
    UNION ALL SELECT 1 FROM uploads WHERE run = @run AND chunk = @chunk`);
  const isPruned = db.prepare<[string]>('SELECT 1 FROM runs WHERE id = ? AND pruned_at IS NOT NULL');
  const may = 'it may hold a payment that the checkpoint does not know';

  return (run, journal, damaged) => {
    if (damaged.length === 0) return null;
    const unknown = damaged.find(({ text }) => !isKnown(run, text));
    if (unknown !== undefined) return `line ${unknown.line} of ${journal} is not what was written; ${may}`;
    // A pruned run has no chunks in the database, but after a kill it may still have files.
    if (isPruned.get(run) !== undefined) return null;
    const file = readdirSync(dirname(journal)).find((name) => {
      const chunk = CHUNK_FILE.exec(name)?.[1];
      return chunk !== undefined && hasChunk.get({ run, chunk: Number(chunk) }) === undefined;
    });
    if (file === undefined) return null;
    const beside = `the file ${file} beside it belongs to a chunk that the checkpoint does not know`;
    return `line ${damaged[0]!.line} of ${journal} is not what was written, and ${beside}; ${may}`;
  };
}

/** A line is known if its readable text matches a row of the database. The damage may be a single digit. */
function lineCheck(db: StateDatabase): (run: string, text: string) => boolean {
  const uploadAt = db.prepare<[string, number, number], { fileName: string; folio: string | null }>(
    'SELECT file_name AS fileName, folio FROM uploads WHERE run = ? AND chunk = ? AND attempt = ?',
  );
  const searchOf = db.prepare<[string, number], { state: string; at: number }>(
    'SELECT state, started_at AS at FROM searches WHERE run = ? AND record = ?',
  );
  const rowOf = factsRead(db);

  const isUploadKnown = (run: string, text: string, chunk: number, attempt: number) => {
    const upload = uploadAt.get(run, chunk, attempt);
    if (upload === undefined) return false;
    const { fileName, folio } = upload;
    if (text.includes(`"fileName":${JSON.stringify(fileName)}`)) return true;
    return folio !== null && text.includes(`"folio":${JSON.stringify(folio)}`);
  };
  const isSearchKnown = (run: string, text: string, record: number, at: string | undefined) => {
    const search = searchOf.get(run, record);
    if (search === undefined) return false;
    if (at !== undefined) return Number(at) === search.at;
    return search.state === 'answered' || /"state":"(dropped|ambiguous)"/.test(text);
  };
  const isMarkKnown = (run: string, text: string, type: string) => {
    const row = rowOf.get(run)!;
    if (type === 'mixed') return row.mixed === 1;
    if (type === 'superseded') return row.state === 'superseded';
    if (type === 'pruned') return row.pruned_at !== null;
    if (type !== 'publishing' && type !== 'published') return false;
    const numbers = [...text.matchAll(NUMBER)].map(([, number]) => Number(number));
    return numbers.length > 0 && numbers.every((number) => number <= row.highest);
  };

  return (run, text) => {
    if (mayBeSeveralLines(text)) return false;
    const type = TYPE.exec(text)?.[1];
    // The upload ended without a folio, and its intent has its own line.
    if (type === 'dropped' || type === 'ambiguous') return true;
    const upload = UPLOAD.exec(text);
    if (upload !== null) return isUploadKnown(run, text, Number(upload[1]), Number(upload[2]));
    if (text.includes('"attempt":')) return false;
    if (type !== undefined && FREE.has(type)) return true;
    const search = SEARCH.exec(text);
    if (search !== null) return isSearchKnown(run, text, Number(search[1]), search[2]);
    return type !== undefined && isMarkKnown(run, text, type);
  };
}

/** Whether the text may be several lines, read as one because line feeds are damaged. */
function mayBeSeveralLines(text: string): boolean {
  if (text.split('"crc":').length > 2) return true;
  return (text.match(NEVER_WRITTEN)?.length ?? 0) > MAX_OF_ONE_CHARACTER;
}
