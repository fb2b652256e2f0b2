/**
 * Refuses a state folder whose checkpoint, or whose rows of a run, are gone while the run's files are there: going on
 * would pay again.
 */
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ConfigError } from '../../errors.js';
import { runsWithFiles } from '../journal/journal-folder.js';
import type { StateDatabase } from './state-database.js';

/**
 * @param path of the checkpoint's file.
 * @throws ConfigError `CHECKPOINT_LOST` when it is missing or empty, but its log or files of runs are there. SQLite would
 *   delete a log without a database.
 */
export async function refuseLost(path: string): Promise<void> {
  const [file, log] = await Promise.all([path, `${path}-wal`].map((one) => stat(one).catch(() => undefined)));
  if ((file?.size ?? 0) > 0) return;
  const runs = runsWithFiles(dirname(path)).length;
  const beside = [
    ...((log?.size ?? 0) > 0 ? [`${path}-wal is there`] : []),
    ...(runs > 0 ? [`${join(dirname(path), 'runs')} holds what ${runs} runs have bought`] : []),
  ];
  if (beside.length === 0) return;
  throw new ConfigError(
    'CHECKPOINT_LOST',
    `${path} is ${file === undefined ? 'missing' : 'empty'}, but ${beside.join(', and ')}; nothing was sent`,
    { facts: { path, runs } },
  );
}

/**
 * A run's row is committed before its folder is created. So a run with files and without a row means that the database
 * is an old copy, or has lost its log.
 * @throws ConfigError `CHECKPOINT_BEHIND`.
 */
export async function refuseUnknownRuns(db: StateDatabase, stateDir: string): Promise<void> {
  const ids = db.prepare<[], string>('SELECT id FROM runs').pluck();
  // Folders are listed before the rows are read: another process may be adding a run.
  const found = runsWithFiles(stateDir);
  if (found.length === 0) return;
  const known = new Set(await db.read(() => ids.all())());
  refuseUnknown(
    stateDir,
    found.filter((run) => !known.has(run)),
  );
}

/**
 * @param unknown runs that have files, and that the database does not know.
 * @throws ConfigError `CHECKPOINT_BEHIND` when there is one.
 */
export function refuseUnknown(stateDir: string, unknown: readonly string[]): void {
  if (unknown.length === 0) return;
  throw new ConfigError(
    'CHECKPOINT_BEHIND',
    `the checkpoint in ${stateDir} knows nothing of ${unknown.length} runs that have files in ${join(stateDir, 'runs')}, such as ${unknown.at(-1)}; nothing was sent`,
    { facts: { stateDir, runs: unknown.length, newest: unknown.at(-1)! } },
  );
}
