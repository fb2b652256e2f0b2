/**
 * Chooses the SQLite driver that runs on this Node. No better-sqlite3 runs on all: 13 needs Node-API 10 (Node
 * 22.14) and dies by a segmentation fault below it; 12 aborts from Node 24.19 on, as soon as a statement is
 * collected. npm installs the right one, but a copied `node_modules` or another Node on the PATH brings the wrong.
 * When Node 20 is dropped, `import Database from 'better-sqlite3'` takes this file's place, and `.node20/` goes too.
 */
import { createRequire } from 'node:module';
import { version, versions } from 'node:process';
import type { Database, Options, SqliteError } from 'better-sqlite3';
import { ConfigError } from './errors.js';

interface Driver {
  new (path: string, options?: Options): Database;
  readonly SqliteError: SqliteError;
}

const COMPILED = ' (compiles it where it finds no binary: Python, make and a C++ compiler must be there)';

let driver: Driver | undefined;

/**
 * Opens a database file; the driver is loaded with the first.
 * @throws ConfigError `SQLITE_DRIVER` when the one that this Node wants is not installed.
 */
export function openSqlite(path: string, options: Options = {}): Database {
  driver ??= loadDriver(createRequire(import.meta.url), Number(versions.napi));
  return new driver(path, options);
}

/** Whether SQLite threw it: its `code` is then one of SQLite's, such as `SQLITE_BUSY`. */
export function isSqliteError(error: unknown): error is InstanceType<SqliteError> {
  return driver !== undefined && error instanceof driver.SqliteError;
}

/**
 * The major of better-sqlite3 that runs on a Node.
 * @param nodeApi its version of Node-API, `process.versions.napi`
 */
export function driverMajor(nodeApi: number): 12 | 13 {
  return nodeApi >= 10 ? 13 : 12;
}

/**
 * Loads better-sqlite3 and opens an empty database, which loads its binary.
 * @param load `require`, or what stands for it in a test
 * @throws ConfigError `SQLITE_DRIVER` when it is missing, of the wrong major, or without a binary for this Node.
 */
export function loadDriver(load: (id: string) => unknown, nodeApi: number): Driver {
  const major = driverMajor(nodeApi);
  try {
    const found = (load('better-sqlite3/package.json') as { version: string }).version;
    if (!found.startsWith(`${major}.`)) throw new Error(`better-sqlite3 ${found} does not run on it`);
    const loaded = load('better-sqlite3') as Driver;
    new loaded(':memory:').close();
    return loaded;
  } catch (cause) {
    const why = (cause as Error).message.split('\n')[0];
    throw new ConfigError('SQLITE_DRIVER', `no SQLite driver for Node ${version}: ${why}`, {
      hint: `npm install better-sqlite3@${major}${major === 12 ? COMPILED : ''}`,
      facts: { node: version, wanted: major },
      cause,
    });
  }
}
