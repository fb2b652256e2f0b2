/**
 * Refuses a state folder that has files of runs or stored answers, but no checkpoint or no rows for these runs. Going
 * on would pay for their records again.
 */

import { statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemError } from '../../disk-error.js';
import { ConfigError } from '../../errors.js';
import { countOf } from '../../quantities.js';
import { ignoreMissing } from '../../streams/system-error.js';
import { runsWithFiles, segmentFiles, segmentsFolder } from '../journal/files-in-state.js';
import { readSearchJournal, searchJournalPath } from '../journal/search-journal.js';
import type { StateDatabase } from './state-database.js';
import { allSingleSearches } from './tables/searches.js';
import { newestSaved, savedFacts } from './watch-place.js';

/**
 * Must be called before SQLite opens the file, because SQLite deletes a log without a database.
 * @param path the path of the checkpoint's file.
 * @throws the system's error, `EISDIR` for a folder; ConfigError `CHECKPOINT_LOST` when the file is missing or empty, but
 *   its log, files of runs or stored answers are there.
 */
export async function refuseLost(path: string): Promise<void> {
  const [file, log] = await Promise.all([path, `${path}-wal`].map((one) => stat(one).catch(ignoreMissing)));
  // SQLite would call this a failing disk.
  if (file?.isDirectory()) throw systemError('EISDIR', path);
  if (log?.isDirectory()) throw systemError('EISDIR', `${path}-wal`);
  if ((file?.size ?? 0) > 0) return;
  const runs = runsWithFiles(dirname(path)).length;
  const answers = segmentFiles(dirname(path)).length;
  const searches = readSearchJournal(dirname(path)).size;
  const saved = newestSaved(path);
  const beside = [
    ...(saved === undefined ? [] : [`${saved} is a copy of what it knew`]),
    ...((log?.size ?? 0) > 0 ? [`${path}-wal is there`] : []),
    ...(runs > 0 ? [`${join(dirname(path), 'runs')} holds what ${countOf(runs, 'run')} bought`] : []),
    ...(answers > 0 ? [`${segmentsFolder(dirname(path))} holds answers that were bought`] : []),
    ...(searches > 0
      ? [`${searchJournalPath(dirname(path))} names ${countOf(searches, 'paid search', 'paid searches')}`]
      : []),
  ];
  if (beside.length === 0) return;
  throw new ConfigError(
    'CHECKPOINT_LOST',
    `${path} is ${file === undefined ? 'missing' : 'empty'}, but ${beside.join(', and ')}; nothing was sent`,
    { facts: { path, runs, ...(saved !== undefined && savedFacts(path, saved)) } },
  );
}

/**
 * Refuses a checkpoint that is missing or empty if there is a copy of all that it knew: a run saved it when the files
 * were removed. A checkpoint that is rebuilt from journals knows less.
 * @param path the path of the checkpoint's file.
 * @throws ConfigError `CHECKPOINT_LOST`.
 */
export function refuseUnusedCopy(path: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const saved = size > 0 ? undefined : newestSaved(path);
  if (saved === undefined) return;
  throw new ConfigError(
    'CHECKPOINT_LOST',
    `${path} is missing or empty, but ${saved} is a copy of what it knew; nothing was rebuilt`,
    { facts: { path, ...savedFacts(path, saved) } },
  );
}

/**
 * Checks that every run with files has a row. The row of a run is committed before its folder is created; so if the row
 * is missing, the database is an old copy or has lost its log.
 * @throws ConfigError `CHECKPOINT_BEHIND`.
 */
export async function refuseUnknownRuns(db: StateDatabase, stateDir: string): Promise<void> {
  const ids = db.prepare<[], string>('SELECT id FROM runs').pluck();
  // Lists the folders before it reads the rows, because another process may be adding a run.
  const found = runsWithFiles(stateDir);
  if (found.length === 0) return;
  const known = new Set(await db.read(() => ids.all())());
  refuseUnknown(
    stateDir,
    found.filter((run) => !known.has(run)),
  );
}

/**
 * @param unknown the runs with files that the database does not know.
 * @throws ConfigError `CHECKPOINT_BEHIND` if there are any.
 */
export function refuseUnknown(stateDir: string, unknown: readonly string[]): void {
  if (unknown.length === 0) return;
  throw new ConfigError(
    'CHECKPOINT_BEHIND',
    `the checkpoint in ${stateDir} knows nothing of ${countOf(unknown.length, 'run')} with files in ${join(stateDir, 'runs')}, such as ${unknown.at(-1)}; nothing was sent`,
    { facts: { stateDir, runs: unknown.length, newest: unknown.at(-1)! } },
  );
}

/**
 * Checks that every search of the journal has a row, because a line is written after its commit.
 * @throws ConfigError `CHECKPOINT_BEHIND`.
 */
export async function refuseUnknownSearches(db: StateDatabase, stateDir: string): Promise<void> {
  // Reads the journal before the rows, because another process may be searching.
  const journal = readSearchJournal(stateDir);
  if (journal.size === 0) return;
  const known = new Set((await db.read(allSingleSearches(db))()).map(({ id }) => id));
  const unknown = [...journal.keys()].filter((id) => !known.has(id));
  if (unknown.length === 0) return;
  throw new ConfigError(
    'CHECKPOINT_BEHIND',
    `the checkpoint in ${stateDir} knows nothing of ${countOf(unknown.length, 'paid search', 'paid searches')} in ${searchJournalPath(stateDir)}, such as ${unknown.at(-1)}; nothing was sent`,
    { facts: { stateDir, searches: unknown.length, newest: unknown.at(-1)! } },
  );
}
