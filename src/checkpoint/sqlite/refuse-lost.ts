/** Notices that the checkpoint, or what it knew of a run, is gone while the run's files are there: it would be paid again. */
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ConfigError } from '../../errors.js';
import { runsWithFiles } from '../journal/journal-folder.js';
import type { StateDatabase } from './state-database.js';

/**
 * @param path of the checkpoint's file.
 * @throws ConfigError `CHECKPOINT_LOST` when it is missing or empty beside its log or the files of runs: SQLite throws
 *   a log away that has no database.
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
 * A run's row is committed before its folder is made: files of a run without one are those of a database that was
 * put back from an old copy, or has lost its log.
 * @throws ConfigError `CHECKPOINT_BEHIND`.
 */
export async function refuseUnknownRuns(db: StateDatabase, stateDir: string): Promise<void> {
  const ids = db.prepare<[], string>('SELECT id FROM runs').pluck();
  // The folders first: another process may be adding a run.
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
