import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { frozenConfig } from '../../../src/config/frozen-config.js';
import { loadConfig, parseConfig } from '../../../src/config/load-config.js';
import { minimal, minimalWith, variable } from '../../helpers/config/minimal-config.js';
import { withFolder } from '../../helpers/folders/folders.js';

const database = 'postgres://bob:s3cret@db.example.com:5433/warehouse';
const sql = "select * from businesses where token = 'abc' order by id";
const parse = (source: unknown) => parseConfig(minimalWith({ source }), '/base');
const problemOf = (source: unknown) => {
  try {
    parse(source);
  } catch (error) {
    return (error as Error).message;
  }
  return '';
};

describe('source.query', () => {
  it('takes the place of the path, without a semicolon, and is read as foliopipe writes it', () => {
    const { source } = parse({ query: { database, sql: ` ${sql} ;\n; ` } });
    expect(source).toMatchObject({ path: null, encoding: 'utf8', delimiter: ',', query: { sql } });
    expect(source.query!.database.reveal()).toBe(database);
    expect(parse({ path: 'a/*.parquet' }).source).toMatchObject({ encoding: 'utf8', delimiter: ',' });
  });

  it('may be missing like the path in a program, which hands in the records; not in a file', async () => {
    expect(parse({}).source).toMatchObject({ path: '-', query: null });
    const { source: _, ...rest } = minimal() as Record<string, unknown>;
    await withFolder(async (folder) => {
      const file = join(folder, 'job.yaml');
      await writeFile(file, JSON.stringify(rest));
      const loading = loadConfig({ files: [file], env: {}, overrides: [], cwd: folder });
      await expect(loading).rejects.toThrow(
        'source.path: is missing; expected the path of a CSV file, a glob,',
      );
    });
  });

  it.each<[string, unknown, string]>([
    ['both', { path: 'x.csv', query: { database, sql } }, 'source.query: is set in addition to source.path'],
    [
      'another database',
      { query: { database: 'mysql://bob:s3cret@h/d', sql } },
      'source.query.database: expected',
    ],
    ['no statement', { query: { database, sql: ' ' } }, 'source.query.sql: expected a query such as'],
    ['a missing statement', { query: { database } }, 'source.query.sql: is missing'],
    [
      'an address as the key',
      { query: database },
      'source.query: expected a map with the keys database, sql',
    ],
    [
      'an unknown key',
      { query: { database, sqll: sql } },
      'source.query.sqll: unknown key, did you mean sql?',
    ],
    ['an encoding', { query: { database, sql }, encoding: 'latin1' }, 'source.encoding: is for CSV files'],
    ['a delimiter', { path: 'x.parquet', delimiter: ';' }, 'source.delimiter: is for CSV files'],
    ['text quotes', { query: { database, sql }, quote: 'none' }, 'source.quote: is for CSV files'],
    ['names of columns', { query: { database, sql }, header: ['a'] }, 'source.header: is for CSV files'],
    ['lines to skip', { path: 'x.parquet', skipLines: 1 }, 'source.skipLines: is for CSV files'],
  ])('refuses %s, and shows no secret', (_, source, problem) => {
    const text = problemOf(source);
    expect(text).toContain(problem);
    expect(text).not.toMatch(/s3cret|abc/);
  });

  it('is shown as a hash of the statement and the place of the database', () => {
    const config = parse({ query: { database, sql } });
    const frozen = frozenConfig(config, 'service')['source.query'];
    expect(frozen).toMatch(/^"postgres:\/\/db\.example\.com:5433\/warehouse, sql [0-9a-f]{12}"$/);
    expect(JSON.stringify(frozen) + inspect(config.source.query!.database)).not.toMatch(/s3cret|abc/);
    expect(frozenConfig(parse({ path: 'x.csv' }), 'service')['source.query']).toBe('null');
  });

  it('takes variables of the environment, in the file and in the name of the key', async () => {
    const rest = Object.entries({ ...minimal(), service: { embedded: true } }).filter(
      ([key]) => key !== 'source',
    );
    const overrides = rest.map(([key, value]) => ({ key, value, baseDir: '/base', origin: 'test' }));
    const env = { FOLIOPIPE_SOURCE__QUERY__DATABASE: database, FOLIOPIPE_SOURCE__QUERY__SQL: sql };
    const { source } = await loadConfig({ files: [], env, overrides, cwd: '/base' });
    expect(source.query!.database.reveal()).toBe(database);
    expect(source.query!.sql).toBe(sql);
  });

  it('is reported as empty if a flag or a variable is', async () => {
    const value = { ...minimal(), source: { query: { database: variable('DATABASE_URL'), sql } } };
    const overrides = [
      ...Object.entries(value).map(([key, one]) => ({ key, value: one, baseDir: '/base', origin: 'test' })),
      { key: 'source.query.sql', value: '', baseDir: '/base', origin: '--set' },
    ];
    const env = { DATABASE_URL: '' };
    await expect(loadConfig({ files: [], env, overrides, cwd: '/base' })).rejects.toMatchObject({
      facts: {
        'source.query.sql': expect.stringMatching(/^expected a query.*, got nothing$/),
        'source.query.database': expect.stringMatching(/got an empty text: the variable in it is empty$/),
      },
    });
  });

  it('is set in one file and unset in a later one, or by a flag', async () => {
    await withFolder(async (folder) => {
      const write = async (name: string, source: object) => {
        await writeFile(join(folder, name), JSON.stringify({ ...minimal(), source }));
        return join(folder, name);
      };
      const none = await write('none.yaml', { path: null, query: null });
      const asked = await write('asked.yaml', { path: null, query: { database: 'duckdb:a.db', sql } });
      const load = (files: readonly string[], set: Record<string, string> = {}) => {
        const overrides = Object.entries(set).map(([key, value]) => ({
          key,
          value,
          baseDir: '/flag',
          origin: '--set',
        }));
        return loadConfig({ files, env: {}, overrides, cwd: folder });
      };
      const { source } = await load([none, asked]);
      expect(`${source.query!.database} ${source.query!.database.file}`).toBe(
        `duckdb:${folder}/a.db ${folder}/a.db`,
      );
      const file = await load([asked], { 'source.query': 'null', 'source.path': 'x.csv' });
      expect(file.source).toMatchObject({ path: '/flag/x.csv', query: null });
      await expect(load([none], { 'source.query.database': database })).rejects.toMatchObject({
        facts: {
          'source.query.database': expect.stringContaining('a password in a flag can be read by every user'),
        },
      });
    });
  });
});
