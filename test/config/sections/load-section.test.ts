import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/config/load-config.js';
import { DatabaseAddress } from '../../../src/config/sections/load-section.js';
import { minimalWith } from '../../helpers/config/minimal-config.js';

const url = 'postgresql://bob:s3cr%40t@db.example.com:5433/warehouse?sslmode=verify-full&password=other';

describe('the address of a database', () => {
  it('shows host and database, however it is printed', () => {
    const address = new DatabaseAddress(url);
    const shown = 'postgres://db.example.com:5433/warehouse';
    expect([`${address}`, inspect({ address }), JSON.stringify({ address })]).toEqual([
      shown,
      `{ address: ${shown} }`,
      JSON.stringify({ address: shown }),
    ]);
    expect(address.reveal()).toBe(url);
    expect(address.secrets()).toEqual([url, 's3cr%40t', 'other']);
  });

  it('hides nothing of an address without credentials, and no word of what it shows', () => {
    expect(new DatabaseAddress('postgres://db.test:5433/warehouse').secrets()).toEqual([]);
    const common = 'postgres://postgres:postgres@db.test/foliopipe';
    expect(new DatabaseAddress(common).secrets()).toEqual([common]);
    const user = 'postgres://bob@db.test/warehouse';
    expect(new DatabaseAddress(user).secrets()).toEqual([user]);
  });
});

describe('the section load', () => {
  const parse = (load: unknown, more: object = {}) =>
    parseConfig(minimalWith({ ...more, load }), '/base').load;
  const section = { into: url, table: 'businesses', mode: 'append' };
  const problemOf = (load: unknown, more?: object) => {
    try {
      parse(load, more);
    } catch (error) {
      return (error as Error).message;
    }
    return '';
  };

  it('is null unless it is given, and has defaults', () => {
    expect(parse(undefined)).toBe(null);
    expect(parse(null)).toBe(null);
    expect(parse(section)).toMatchObject({ onSchema: 'fail', onRemoved: 'keep', partial: false });
    expect(String(parse(section)!.into)).toBe('postgres://db.example.com:5433/warehouse');
    expect(parse({ ...section, into: 'none' })!.into).toBe(null);
  });

  it('takes the path of a DuckDB file, which is no secret', () => {
    const into = parse({ ...section, into: 'duckdb:out/w%20 x.duckdb' })!.into!;
    expect([String(into), into.scheme, into.file]).toEqual([
      'duckdb:/base/out/w%20 x.duckdb',
      'duckdb',
      '/base/out/w%20 x.duckdb',
    ]);
    expect(into.secrets()).toEqual([]);
    for (const wrong of ['duckdb:', 'duckdb:~/w.duckdb', 'duckdb:a\nb']) {
      expect(problemOf({ ...section, into: wrong })).toContain('load.into: expected an address');
    }
  });

  it.each<[string, unknown, string]>([
    [
      'another database',
      { ...section, into: 'mysql://bob:s3cret@host/db' },
      'load.into: expected an address',
    ],
    ['no address', { ...section, into: 's3cret' }, 'load.into: expected an address'],
    ['an address as the section', 'postgres://bob:s3cret@host/db', 'load: expected a map'],
    ['no mode', { into: url, table: 't' }, 'load.mode: is missing'],
    ['merge without a key', { ...section, mode: 'merge' }, 'load.mode: merge needs source.key'],
    [
      'onRemoved without merge',
      { ...section, onRemoved: 'delete' },
      'load.onRemoved: is only for load.mode: merge',
    ],
    [
      'the table of loads',
      { ...section, table: 'analytics.foliopipe_loads' },
      'load.table: is the table in which foliopipe records its loads',
    ],
    ['an unknown key', { ...section, tabel: 't' }, 'load.tabel: unknown key, did you mean table?'],
  ])('refuses %s, and shows no secret', (_, load, problem) => {
    const message = problemOf(load);
    expect(message).toContain(problem);
    expect(message).not.toContain('s3c');
  });
});
