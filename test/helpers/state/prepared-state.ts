/** State folders prepared for tests: one of an older version, and one with an empty checkpoint. */
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { openSqliteCheckpoint } from '../../../src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import { openSqlite } from '../../../src/sqlite-driver.js';
import { withFolder } from '../folders/folders.js';

/** Placeholder in the fixture for the folder of the job. */
const FOLDER = '/FOLDER';
const fixtures = new URL('../../fixtures/state/', import.meta.url).pathname;

/** Copies a fixture into a new folder, removed afterwards. Its databases are kept as SQL, which people can read. */
export async function withStateFixture(name: string, use: (folder: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    await cp(join(fixtures, name), folder, { recursive: true });
    await build(folder, 'checkpoint.sql', join('state', 'checkpoint.db'));
    await build(folder, 'service.sql', join('state', 'service', 'service.db'));
    await use(folder);
  });
}

async function build(folder: string, dump: string, path: string): Promise<void> {
  const sql = await readFile(join(folder, dump), 'utf8');
  await mkdir(dirname(join(folder, path)), { recursive: true });
  const database = openSqlite(join(folder, path));
  // A dump creates its tables in any order.
  database.pragma('foreign_keys = OFF');
  database.exec(sql.replaceAll(FOLDER, folder));
  database.close();
}

/** Made once and copied, because creating the tables is slow. */
let emptyCheckpoint: Promise<Buffer> | undefined;

/** Calls `use` with a new state folder that holds an empty checkpoint, removed afterwards. */
export function withEmptyState<T>(use: (folder: string) => Promise<T>): Promise<T> {
  return withFolder(async (folder) => {
    emptyCheckpoint ??= makeEmptyCheckpoint();
    await writeFile(join(folder, 'checkpoint.db'), await emptyCheckpoint, { mode: 0o600 });
    return use(folder);
  });
}

function makeEmptyCheckpoint(): Promise<Buffer> {
  return withFolder(async (folder) => {
    await (await openSqliteCheckpoint(folder)).close();
    return readFile(join(folder, 'checkpoint.db'));
  });
}
