/** State folders whose empty checkpoint is a copy of one that was made before: making its tables takes a while. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openSqliteCheckpoint } from '../../src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import { withFolder } from './checkpoint-samples.js';

let made: Promise<Buffer> | undefined;

/** Calls `use` with a new state folder that holds an empty checkpoint, removed afterwards. */
export function withEmptyState<T>(use: (folder: string) => Promise<T>): Promise<T> {
  return withFolder(async (folder) => {
    made ??= makeOne();
    await writeFile(join(folder, 'checkpoint.db'), await made, { mode: 0o600 });
    return use(folder);
  });
}

function makeOne(): Promise<Buffer> {
  return withFolder(async (folder) => {
    await (await openSqliteCheckpoint(folder)).close();
    return readFile(join(folder, 'checkpoint.db'));
  });
}
