/** Simulates the worst power failure: of a killed process's state only what was synced is left. */
import { copyFile, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isSqliteError, openSqlite } from '../../../src/sqlite-driver.js';
import { withFolder } from '../folders/folders.js';
import { filesUnder } from '../jobs/cli-job.js';

/**
 * Cuts the log back as far as it may be lost: to the oldest commit that still has everything that must survive.
 * Empties the chunk files too, which are never synced.
 * @returns how many commits were removed.
 */
export async function failPower(stateDir: string): Promise<number> {
  const path = join(stateDir, 'checkpoint.db');
  const log = await readFile(`${path}-wal`);
  const ends = commitEnds(log);
  const kept = await withFolder(async (folder) => {
    const copy = join(folder, 'checkpoint.db');
    const lastingAt = async (end: number) => {
      // Copies both files each time, because closing a database writes its log back.
      await copyFile(path, copy);
      await writeFile(`${copy}-wal`, log.subarray(0, end));
      return lasting(copy);
    };
    const last = await lastingAt(log.length);
    let at = ends.length - 1;
    while (at > 0 && (await lastingAt(ends[at - 1]!)) === last) at -= 1;
    return at;
  });
  await truncate(`${path}-wal`, ends[kept]);
  for (const file of await filesUnder(stateDir)) {
    if (/\/chunk-\d+\.csv$/.test(file)) await truncate(join(stateDir, file), 0);
  }
  return ends.length - 1 - kept;
}

/** The offsets at which the commits of a log end (sqlite.org/fileformat2.html#the_write_ahead_log). */
function commitEnds(log: Buffer): number[] {
  const frame = 24 + log.readUInt32BE(8);
  const salt = log.subarray(16, 24);
  const ends: number[] = [];
  for (let at = 32; at + frame <= log.length; at += frame) {
    if (!log.subarray(at + 8, at + 16).equals(salt)) break;
    if (log.readUInt32BE(at + 4) > 0) ends.push(at + frame);
  }
  return ends;
}

/** Everything that must survive: payments, decisions, downloads. Undefined before there are tables. */
function lasting(path: string): string | undefined {
  const db = openSqlite(path);
  try {
    const tables = ['runs', 'uploads', 'searches', 'spending', 'pipeline_columns'].map(
      (table) => `SELECT * FROM ${table}`,
    );
    const ended = "SELECT run, number, state FROM chunks WHERE state NOT IN ('cut', 'submitted', 'finished')";
    return JSON.stringify([...tables, ended].map((sql) => db.prepare(sql).all()));
  } catch (error) {
    if (isSqliteError(error) && error.message.startsWith('no such table')) return undefined;
    throw error;
  } finally {
    db.close();
  }
}
