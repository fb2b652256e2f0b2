/** What a power failure leaves of the state of a killed process, at its worst: only what waited for the disk. */
import { copyFile, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isSqliteError, openSqlite } from '../../src/sqlite-driver.js';
import { withFolder } from './checkpoint-samples.js';
import { filesUnder } from './job.js';

/**
 * Cuts the log back to the oldest commit after which no change was made that must survive, and empties the chunk
 * files, which are never synced.
 * @returns how many commits are gone.
 */
export async function failPower(stateDir: string): Promise<number> {
  const path = join(stateDir, 'checkpoint.db');
  const log = await readFile(`${path}-wal`);
  const ends = commitEnds(log);
  const kept = await withFolder(async (folder) => {
    const copy = join(folder, 'checkpoint.db');
    const lastingAt = async (end: number) => {
      // Both anew: closing a database writes its log back.
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

/** Where the commits of a log end (sqlite.org/fileformat2.html#the_write_ahead_log). */
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

/** All that is paid for, decided or downloaded; undefined before there are tables. */
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
