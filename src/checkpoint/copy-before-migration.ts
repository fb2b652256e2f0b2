/** Keeps the state as an older foliopipe left it, before its tables are changed. */
import { chmod, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Database } from 'better-sqlite3';
import { syncFolder } from '../streams/atomic-file.js';

/** Where the copy of a file of this version stands. */
export function copyPath(path: string, version: number): string {
  return `${path}.v${version}.bak`;
}

/**
 * Writes `checkpoint.db.v<version>.bak`, whole or not at all; one of an earlier attempt is replaced. Nobody may
 * be writing to the file meanwhile.
 */
export async function copyBeforeMigration(connection: Database, version: number): Promise<void> {
  const path = copyPath(connection.name, version);
  const beside = `${path}.tmp`;
  await rm(beside, { force: true });
  try {
    connection.prepare('VACUUM INTO ?').run(beside);
    await chmod(beside, 0o600);
    const file = await open(beside, 'r');
    await file.sync().finally(() => file.close());
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
  await rename(beside, path);
  await syncFolder(dirname(path));
}
