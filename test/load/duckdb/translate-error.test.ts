import { describe, expect, it } from 'vitest';
import { DuckdbError } from '../../../src/duckdb/open-duckdb.js';
import { translateError } from '../../../src/load/duckdb/translate-error.js';

const place = 'duckdb:/data/w.duckdb';

describe('an error of DuckDB', () => {
  it.each([
    [
      'IO Error: Could not set lock on file "/data/w.duckdb": Conflicting lock is held in /usr/bin/node (PID 12849). See also https://duckdb.org',
      'LOAD_BUSY',
      5,
    ],
    ['IO Error: Cannot open file "/x/w.duckdb": No such file or directory', 'LOAD_DATABASE_MISSING', 2],
    ['IO Error: Cannot open file "/x/y/w.duckdb": Not a directory', 'LOAD_DATABASE_MISSING', 2],
    ['IO Error: Cannot open file "/x/w.duckdb": Permission denied', 'LOAD_DENIED', 7],
    [
      'IO Error: The file "w" exists, but it is not a valid DuckDB database file!',
      'LOAD_DATABASE_INVALID',
      2,
    ],
    [
      'IO Error: Could not read enough bytes from file "w": attempted to read 262144 bytes from location 798720',
      'LOAD_DATABASE_INVALID',
      2,
    ],
    [
      'IO Error: Corrupt database file: computed checksum 1 does not match stored checksum 2 in block',
      'LOAD_DATABASE_INVALID',
      2,
    ],
    ['IO Error: Could not write file "w": No space left on device', 'LOAD_BUSY', 5],
    ['Out of Memory Error: could not allocate block of size 4.0 GiB', 'LOAD_BUSY', 5],
    ['Invalid Input Error: CSV Error on Line: 2\nOriginal Line: a', 'LOAD_UNREADABLE', 6],
    [
      'Invalid Input Error: CSV Error on Line: 2\nOriginal Line: Permission denied\nMaximum line size of 9 bytes exceeded.',
      'LOAD_VALUE_UNFIT',
      2,
    ],
    // What stands in the values says nothing.
    ["Conversion Error: Could not convert string 'No space left' to INT32", 'LOAD_VALUE_UNFIT', 2],
    ["Conversion Error: Could not convert string 'abc' to INT32\n\nLINE 1: select", 'LOAD_VALUE_UNFIT', 2],
    ['Constraint Error: NOT NULL constraint failed: g.a', 'LOAD_VALUE_UNFIT', 2],
    ['Binder Error: Cannot insert into a generated column', 'LOAD_UNFIT', 2],
    ['Something Error: new', 'LOAD_FAILED', 2],
  ])('%s', (message, code, exitCode) => {
    const error = translateError(new DuckdbError(message), place) as Error;
    expect(error).toMatchObject({ code, exitCode, hint: expect.stringMatching(/./) });
    expect(error.message).toContain('/data/w.duckdb');
    expect(error.message).not.toContain('LINE 1');
  });

  it('names the process that holds the file', () => {
    const held =
      'IO Error: Could not set lock on file "w": Conflicting lock is held in /usr/bin/node (PID 12849).';
    expect(translateError(new DuckdbError(held), place)).toMatchObject({
      message: expect.stringContaining('is open in /usr/bin/node (process 12849)'),
      facts: { pid: 12849 },
    });
  });

  it('leaves other errors as they are, and shows no control characters', () => {
    const other = new Error('other');
    expect(translateError(other, place)).toBe(other);
    const hostile = translateError(new DuckdbError('Conversion Error: \u001b[31m'), place) as Error;
    expect(hostile.message).not.toContain('\u001b');
  });
});
