/**
 * Chooses the SQLite driver that runs on this Node. No version of better-sqlite3 runs on all of them: 13 needs Node-API
 * 10 (Node 22.14) and crashes with a segmentation fault below it; 12 aborts from Node 24.19 on, when a statement is
 * garbage-collected. npm installs the right one, but a copied `node_modules` or another Node on the PATH may bring the
 * wrong one. Once Node 20 is dropped, `import Database from 'better-sqlite3'` replaces this file and `.node20/`.
 */
import { createRequire } from 'node:module';
import { version, versions } from 'node:process';
import type { Database, Options, SqliteError } from 'better-sqlite3';
import { ConfigError } from './errors.js';

interface Driver {
  new (path: string | Buffer, options?: Options): Database;
  readonly SqliteError: SqliteError;
}

const COMPILED = ' (compiles it where it finds no binary: Python, make and a C++ compiler must be there)';
/** The package may be installed without its binary: a setting or npm's caller can turn install scripts off. */
const REBUILD = 'npm rebuild better-sqlite3 --ignore-scripts=false';

let driver: Driver | undefined;

/**
 * Opens a database file, or the bytes of one, which stay in memory. The first call loads the driver.
 * @throws ConfigError `SQLITE_DRIVER` when the version that this Node needs is not installed.
 */
export function openSqlite(path: string | Buffer, options: Options = {}): Database {
  driver ??= loadDriver(createRequire(import.meta.url), Number(versions.napi));
  return new driver(path, options);
}

/** Whether the error comes from SQLite: its `code` is then one of SQLite's, such as `SQLITE_BUSY`. */
export function isSqliteError(error: unknown): error is InstanceType<SqliteError> {
  return driver !== undefined && error instanceof driver.SqliteError;
}

/**
 * The major version of better-sqlite3 that runs on a Node.
 * @param nodeApi the Node's version of Node-API, `process.versions.napi`
 */
export function driverMajor(nodeApi: number): 12 | 13 {
  return nodeApi >= 10 ? 13 : 12;
}

/**
 * Loads better-sqlite3 and opens an empty database, which loads its binary.
 * @param load `require`, or its replacement in a test
 * @throws ConfigError `SQLITE_DRIVER` when it is missing, has the wrong major version, or has no binary for this Node.
 */
export function loadDriver(load: (id: string) => unknown, nodeApi: number): Driver {
  const major = driverMajor(nodeApi);
  let isInstalled = false;
  try {
    const found = (load('better-sqlite3/package.json') as { version: string }).version;
    if (!found.startsWith(`${major}.`)) throw new Error(`better-sqlite3 ${found} does not run on it`);
    isInstalled = true;
    const loaded = load('better-sqlite3') as Driver;
    new loaded(':memory:').close();
    return loaded;
  } catch (cause) {
    const [line] = (cause as Error).message.split('\n');
    const why = isInstalled ? `the binary of better-sqlite3 does not load: ${line}` : line;
    throw new ConfigError('SQLITE_DRIVER', `no SQLite driver for Node ${version}: ${withoutList(why!)}`, {
      hint: `${isInstalled ? REBUILD : `npm install better-sqlite3@${major}`}${major === 12 ? COMPILED : ''}`,
      facts: { node: version, wanted: major },
      cause,
    });
  }
}

/** Removes the words of a first line that announce the list in the lines after it. */
function withoutList(line: string): string {
  return line.replace(/[.:]? Tried:$/, '');
}
