import { describe, expect, it } from 'vitest';
import { DuckdbError } from '../../src/duckdb/open-duckdb.js';
import type { FoliopipeError } from '../../src/errors.js';
import { translateDuckdbError, translatePostgresError } from '../../src/spool/translate-error.js';

const place = 'postgres://db/warehouse';
const server = (code: string, message = 'no') =>
  Object.assign(new Error(message), { code, severity: 'ERROR' });
const system = (code: string) => Object.assign(new Error('connect'), { code });

describe('an error of Postgres', () => {
  it.each<[string, number, Error]>([
    ['SOURCE_DATABASE_UNREACHABLE', 5, system('ECONNREFUSED')],
    ['SOURCE_DATABASE_UNREACHABLE', 5, server('57P01')],
    ['SOURCE_DATABASE_UNREACHABLE', 5, server('08006')],
    ['SOURCE_DATABASE_UNREACHABLE', 5, new Error('Connection terminated unexpectedly')],
    ['SOURCE_DATABASE_BUSY', 5, server('53300')],
    ['SOURCE_DATABASE_BUSY', 5, server('40001')],
    ['SOURCE_DATABASE_BUSY', 5, server('55P03')],
    ['SOURCE_DATABASE_BUSY', 5, server('57014')],
    ['SOURCE_DATABASE_REFUSED', 7, server('28P01', 'password of bob')],
    ['SOURCE_DATABASE_REFUSED', 7, new Error('SASL: no password')],
    ['SOURCE_DATABASE_DENIED', 7, server('42501')],
    ['SOURCE_DATABASE_MISSING', 2, server('3D000')],
    ['SOURCE_QUERY_INVALID', 2, server('42601')],
    ['SOURCE_QUERY_INVALID', 2, server('22012')],
    ['SOURCE_QUERY_INVALID', 2, server('25006')],
    ['SOURCE_QUERY_INVALID', 2, server('0A000')],
  ])('is %s, exit %i', (code, exitCode, error) => {
    const told = translatePostgresError(error, place, () => undefined) as Error;
    expect(told).toMatchObject({ code, exitCode, hint: expect.any(String) });
    expect(told.message).toContain(place);
    expect(told.message).not.toContain('bob');
  });

  it('that is none stays as it is', () => {
    const error = Object.assign(new Error('disk'), { code: 'ENOSPC' });
    expect(translatePostgresError(error, place, () => undefined)).toBe(error);
  });
});

describe('a DuckDB file that cannot be opened', () => {
  it.each([
    ['SOURCE_DATABASE_MISSING', 2, 'IO Error: Cannot open "x": database does not exist'],
    ['SOURCE_DATABASE_BUSY', 5, 'IO Error: Could not set lock on file "x": Conflicting lock is held'],
    ['SOURCE_DATABASE_DENIED', 7, 'IO Error: Cannot open file "x": Permission denied'],
    [
      'SOURCE_DATABASE_MISSING',
      2,
      'IO Error: The file "x" exists, but it is not a valid DuckDB database file!',
    ],
    [
      'SOURCE_DATABASE_DAMAGED',
      2,
      'IO Error: Corrupt database file: computed checksum 1 does not match stored checksum 2 in block at location 0',
    ],
    [
      'SOURCE_DATABASE_DAMAGED',
      2,
      'IO Error: Could not read enough bytes from file "x": attempted to read 3996 bytes from location 100',
    ],
    ['SOURCE_DATABASE_DENIED', 7, 'IO Error: Cannot open file "/blocks/x": Permission denied'],
    ['DUCKDB_NO_ROOM', 5, 'Out of Memory Error: could not allocate block of size 256.0 KiB (9/10 used)'],
  ])('is %s, exit %i', (code, exitCode, message) => {
    const told = translateDuckdbError(new DuckdbError(message), 'duckdb:x');
    expect(told).toMatchObject({ code, exitCode, hint: expect.any(String) });
  });

  it('is told as what it is, where it is a CSV', () => {
    const error = new DuckdbError('Catalog Error: Cannot launch in-memory database in read-only mode!');
    expect(translateDuckdbError(error, 'duckdb:x')).toMatchObject({
      message: 'duckdb:x is not a DuckDB database',
      hint: expect.stringContaining('source.path'),
    });
  });
});

describe('a lost connection', () => {
  it.each([
    [
      system('ECONNREFUSED'),
      /^postgres:\/\/db\/warehouse cannot be reached: no process listens at db:5432 \(ECONNREFUSED\)$/,
      /^start the database, or correct host and port in source\.query\.database, then/,
    ],
    [system('ENOTFOUND'), /: no host has the name db \(ENOTFOUND\)$/, /^correct the host in source/],
    [new Error('timeout expired'), /: db:5432 gives no answer/, /^look whether the database is up, then/],
    [new Error('Connection terminated unexpectedly'), /, or the connection was lost/, /^look whether/],
  ])('by %s says where, and what to do', (error, message, hint) => {
    const told = translatePostgresError(error, place, () => undefined) as FoliopipeError;
    expect(told.message).toMatch(message);
    expect(told.hint).toMatch(hint);
  });
});
