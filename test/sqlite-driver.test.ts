/** Which driver is taken on which Node, and what is said where it is not there. */
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../src/errors.js';
import { driverMajor, isSqliteError, loadDriver, openSqlite } from '../src/sqlite-driver.js';

describe('the driver', () => {
  it.each([
    ['20.19', 9, 12],
    ['22.13', 9, 12],
    ['22.14', 10, 13],
    ['24.0', 10, 13],
    ['26.10', 10, 13],
  ])('of Node %s with Node-API %i is better-sqlite3 %i', (_node, nodeApi, major) => {
    expect(driverMajor(nodeApi)).toBe(major);
  });

  it('opens a database, and its errors are known', () => {
    const db = openSqlite(':memory:');
    expect(db.prepare('SELECT 1 AS one').get()).toEqual({ one: 1 });
    expect(thrownBy(() => db.exec('nonsense'))).toSatisfy(isSqliteError);
    expect(isSqliteError(Object.assign(new Error('full'), { code: 'SQLITE_FULL' }))).toBe(false);
    db.close();
  });

  it.each([
    ['is not installed', 9, () => missing("Cannot find module 'better-sqlite3'\nRequire stack: ..."), 12],
    ['is 13 on a Node that it crashes', 9, installed('13.2.0'), 12],
    ['is 12 on a Node that it aborts', 10, installed('12.11.1'), 13],
  ])('that %s is one line with what to install', (_case, nodeApi, load, major) => {
    const error = thrownBy(() => loadDriver(load, nodeApi)) as ConfigError;
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({ code: 'SQLITE_DRIVER', facts: { wanted: major } });
    expect(`${error.hint} `).toMatch(new RegExp(`^npm install better-sqlite3@${major} .*$`));
    expect(error.message).toMatch(/^no SQLite driver for Node v[\d.]+: .+$/);
  });

  it.each([
    [9, '12.11.1', / \(compiles it where it finds no binary/],
    [10, '13.2.0', /=false$/],
  ])(
    'that has no binary, with Node-API %i, is built by npm rebuild: npm install thinks it is there',
    (nodeApi, version, rest) => {
      const error = thrownBy(() => loadDriver(installed(version), nodeApi)) as ConfigError;
      expect(error.hint).toMatch(/^npm rebuild better-sqlite3 --ignore-scripts=false/);
      expect(error.hint).toMatch(rest);
      expect(error.message).toMatch(
        /: the binary of better-sqlite3 does not load: Could not locate the bindings file$/,
      );
    },
  );
});

/** A package of that version whose binary was never made. */
function installed(version: string): (id: string) => unknown {
  return (id) =>
    id === 'better-sqlite3/package.json'
      ? { version }
      : function Database() {
          missing('Could not locate the bindings file. Tried:\n → build/better_sqlite3.node');
        };
}

function missing(message: string): never {
  throw new Error(message);
}

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}
