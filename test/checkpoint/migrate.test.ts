/** Migrations: all or none, safe to run twice, newer files refused. */
import type { Database } from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { migrate, refuseOlder, schemaVersion } from '../../src/checkpoint/migrate.js';
import { migrations } from '../../src/checkpoint/migrations/index.js';
import { openSqlite } from '../../src/sqlite-driver.js';

describe('migrate', () => {
  let database: Database;
  beforeEach(() => {
    database = openSqlite(':memory:');
  });
  afterEach(() => {
    database.close();
  });
  const schema = () => database.prepare('SELECT name, sql FROM sqlite_schema ORDER BY name').all();

  it('makes the tables, and changes nothing the second time', () => {
    migrate(database, migrations);
    const made = schema();
    expect(made).not.toEqual([]);
    migrate(database, migrations);
    expect(schema()).toEqual(made);
    expect(schemaVersion(database)).toBe(migrations.length);
  });

  it('does only the migrations that the file lacks', () => {
    migrate(database, ['CREATE TABLE a (x)']);
    migrate(database, ['CREATE TABLE a (x)', 'CREATE TABLE b (x)']);
    expect(schema()).toMatchObject([{ name: 'a' }, { name: 'b' }]);
  });

  it('does all of them or none', () => {
    expect(() => migrate(database, ['CREATE TABLE a (x)', 'no SQL'])).toThrow('syntax error');
    expect(schema()).toEqual([]);
    expect(schemaVersion(database)).toBe(0);
  });

  it('refuses a file with more migrations than are known', () => {
    migrate(database, ['CREATE TABLE a (x)', 'CREATE TABLE b (x)']);
    expect(() => migrate(database, ['CREATE TABLE a (x)'])).toThrow('newer foliopipe');
  });

  it('refuses, for those that only read, a file with fewer', () => {
    migrate(database, ['CREATE TABLE a (x)']);
    refuseOlder(database, 1);
    expect(() => refuseOlder(database, 2)).toThrow('older foliopipe');
  });
});
