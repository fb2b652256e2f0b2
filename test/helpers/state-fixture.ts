/** A job's folder as an older foliopipe left it; its databases are kept as SQL, to be read by people too. */
import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openSqlite } from '../../src/sqlite-driver.js';

/** Stands in the fixture for the folder in which the job lay. */
const FOLDER = '/FOLDER';
const fixtures = new URL('../fixtures/state/', import.meta.url).pathname;

/** Lays the fixture of this name out in a folder of its own, which is removed afterwards. */
export async function withStateFixture(name: string, use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'foliopipe-state-'));
  try {
    await cp(join(fixtures, name), folder, { recursive: true });
    await build(folder, 'checkpoint.sql', join('state', 'checkpoint.db'));
    await build(folder, 'service.sql', join('state', 'service', 'service.db'));
    await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function build(folder: string, dump: string, path: string): Promise<void> {
  const sql = await readFile(join(folder, dump), 'utf8');
  await mkdir(dirname(join(folder, path)), { recursive: true });
  const database = openSqlite(join(folder, path));
  // A dump makes its tables in no special order.
  database.pragma('foreign_keys = OFF');
  database.exec(sql.replaceAll(FOLDER, folder));
  database.close();
}
