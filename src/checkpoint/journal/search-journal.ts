/**
 * The journal of searches that belong to no run: `<stateDir>/searches.log`, the second record of each (rule "What was
 * bought is kept", docs/architecture.md#what-was-bought-is-kept). Searches take no lock, so several processes may write
 * at once. Invariant: each line is written by one append, after the commit that it describes.
 */
import { existsSync, readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder } from '../../streams/atomic-file.js';
import type { SingleSearch } from '../state.js';
import { writeJournalFile } from './journal-file.js';
import { decodeLine, encodeLine, type SearchJournalLine } from './journal-line.js';

export function searchJournalPath(stateDir: string): string {
  return join(stateDir, 'searches.log');
}

/** Adds a line. When the promise resolves, the line is on the disk. @throws the system's error. */
export async function appendSearchLine(stateDir: string, line: SearchJournalLine): Promise<void> {
  const path = searchJournalPath(stateDir);
  const isNew = !existsSync(path);
  const file = await open(path, 'a', 0o600);
  try {
    // A kill may have left a line without its end. An empty line is skipped.
    await file.appendFile(`\n${encodeLine(line)}`);
    await file.datasync();
  } finally {
    await file.close();
  }
  if (isNew) await syncFolder(stateDir);
}

/** Writes the whole journal from the rows of the database. */
export function writeSearchJournal(stateDir: string, searches: readonly SingleSearch[]): void {
  writeJournalFile(searchJournalPath(stateDir), searches.flatMap(linesOf));
}

/** Adds the searches of the journal in another folder that this one does not know. */
export async function addSearches(stateDir: string, from: string): Promise<void> {
  const known = readSearchJournal(stateDir);
  for (const search of readSearchJournal(from).values()) {
    if (known.has(search.id)) continue;
    for (const line of linesOf(search)) await appendSearchLine(stateDir, line);
  }
}

function linesOf({ state, local, startedAt: at, ...search }: SingleSearch): SearchJournalLine[] {
  const { id } = search;
  const begun = { type: 'single-search', ...search, at } as const;
  return state === 'intent' ? [begun] : [begun, { type: 'single-searched', id, state, local }];
}

/** All searches of the journal by id; empty if there is none. Lines that are torn or damaged are skipped. */
export function readSearchJournal(stateDir: string): ReadonlyMap<string, SingleSearch> {
  const searches = new Map<string, SingleSearch>();
  const path = searchJournalPath(stateDir);
  if (!existsSync(path)) return searches;
  for (const text of readFileSync(path, 'utf8').split('\n')) {
    const line = decodeLine(text);
    if (line?.type === 'single-search') {
      const { type: _, at: startedAt, ...search } = line;
      searches.set(line.id, { ...search, startedAt, state: 'intent', local: null });
    } else if (line?.type === 'single-searched') {
      const begun = searches.get(line.id);
      if (begun !== undefined) searches.set(line.id, { ...begun, state: line.state, local: line.local });
    }
  }
  return searches;
}
