/** Migrations: all or none, safe to run twice, newer files refused. */
import type { Database } from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { migrate, refuseOlder, schemaVersion } from '../../../src/checkpoint/sqlite/migrate.js';
import { withheldRuns } from '../../../src/checkpoint/sqlite/migrations/changes.js';
import { migrations } from '../../../src/checkpoint/sqlite/migrations/index.js';
import { openSqlite } from '../../../src/sqlite-driver.js';

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

  it('numbers what older versions have published, in the order in which it was done', () => {
    migrate(database, migrations.slice(0, 2));
    const insert = database.prepare(`
      INSERT INTO runs (id, pipeline, service, source, frozen, created_at, state, columns, publication, finished_at)
      VALUES (@id, @pipeline, 's', '{}', '{}', 1, @state, @columns, @publication, @finishedAt)`);
    const published = (id: string, state: string, finishedAt: number | null, pipeline = 'nightly') => {
      const publication = JSON.stringify({ bytes: 5_000_000_000, sha256: id, output: { path: '/o.csv' } });
      insert.run({ id, pipeline, state, columns: id === 'a' ? null : '["code"]', publication, finishedAt });
    };
    published('a', 'done', 30);
    published('b', 'publishing', 10);
    published('c', 'done', 20);
    published('d', 'done', 1, 'other');
    insert.run({
      id: 'e',
      pipeline: 'other',
      state: 'open',
      columns: null,
      publication: null,
      finishedAt: null,
    });
    migrate(database, migrations);
    const files = database
      .prepare('SELECT pipeline, number, run, path, bytes, sha256, stamp FROM publications ORDER BY 1, 2')
      .raw()
      .all();
    const rest = (id: string) => ['/o.csv', 5_000_000_000, id, null];
    expect(files).toEqual([
      ['nightly', 1, 'c', ...rest('c')],
      ['nightly', 2, 'a', ...rest('a')],
      ['nightly', 3, 'b', ...rest('b')],
      ['other', 1, 'd', ...rest('d')],
    ]);
    const known = database.prepare('SELECT publication FROM runs ORDER BY id').pluck().all();
    expect(known.map((text) => text && JSON.parse(text as string))).toMatchObject([
      { number: 2, resultColumns: [], sha256: 'a' },
      { number: 3, resultColumns: ['code'], bytes: 5_000_000_000 },
      { number: 1, resultColumns: ['code'] },
      { number: 1, output: { path: '/o.csv' } },
      null,
    ]);
  });

  it('lets runs be withheld, and keeps every run, their order and what refers to them', () => {
    database.pragma('foreign_keys = ON');
    const before = migrations.slice(0, migrations.indexOf(withheldRuns));
    migrate(database, before);
    const states = ['done', 'superseded', 'publishing', 'open'];
    // Ids that descend, so that only the order of insertion gives the order of the runs.
    for (const [at, state] of states.entries()) {
      database.exec(`
        INSERT INTO runs (id, pipeline, service, source, frozen, created_at, state, label, round, finished_at)
        VALUES ('r${9 - at}', 'nightly', 's', '{}', '{"a":1}', 1, '${state}', 'note ${at}', ${at}, 7);
        INSERT INTO searches (run, record, state, started_at, day) VALUES ('r${9 - at}', 1, 'intent', 1, 'd')`);
    }
    const rows = () =>
      database
        .prepare('SELECT id, pipeline, frozen, state, label, round, finished_at FROM runs ORDER BY rowid')
        .all();
    const old = rows();
    const withhold = () => database.exec("UPDATE runs SET state = 'withheld' WHERE id = 'r9'");
    expect(withhold).toThrow('CHECK');

    migrate(database, migrations);
    expect(rows()).toEqual(old);
    expect(database.pragma('foreign_key_check')).toEqual([]);
    expect(database.pragma('quick_check', { simple: true })).toBe('ok');
    withhold();
    expect(rows()[0]).toMatchObject({ id: 'r9', state: 'withheld' });
    expect(() => database.exec("UPDATE runs SET state = 'unknown'")).toThrow('CHECK');
    expect(() => database.exec("DELETE FROM runs WHERE id = 'r8'")).toThrow('FOREIGN KEY');
  });

  it('gives a file of version 4 a place for searches of no run, and keeps what was spent', () => {
    migrate(database, migrations.slice(0, 4));
    database.exec("INSERT INTO spending VALUES ('nightly', '2026-11-21', 'r1', 7)");
    migrate(database, migrations);
    expect(schemaVersion(database)).toBe(migrations.length);
    expect(database.prepare('SELECT * FROM spending').raw().all()).toEqual([
      ['nightly', '2026-11-21', 'r1', 7],
    ]);
    expect(database.prepare('SELECT count(*) FROM single_searches').pluck().get()).toBe(0);
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
