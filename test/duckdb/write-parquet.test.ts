/** With the real DuckDB in its real process. */
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type ParquetTable, writeParquet } from '../../src/duckdb/write-parquet.js';
import type { ColumnType } from '../../src/output-format.js';
import { queryDuckdb } from '../helpers/duckdb/query-duckdb.js';
import { withFolder } from '../helpers/folders/folders.js';
import { proveRows } from '../prove/formats/parquet-rows.js';

type Table = Partial<Omit<ParquetTable, 'csv'>> & Pick<ParquetTable, 'columns'>;

/** Writes the CSV as Parquet, and reads it back. */
async function throughParquet(folder: string, csv: string, table: Table) {
  const path = join(folder, 'rows.csv');
  const parquet = join(folder, "it's.parquet");
  writeFileSync(path, csv);
  writeFileSync(parquet, '', { mode: 0o600 });
  const tempFolder = join(folder, 'temp');
  const signal = new AbortController().signal;
  await writeParquet({ csv: path, parquet, types: {}, records: 1, tempFolder, signal, ...table });
  expect(statSync(parquet).mode & 0o777).toBe(0o600);
  const from = `read_parquet('${parquet.replaceAll("'", "''")}')`;
  const rows = await queryDuckdb(':memory:', `SELECT * FROM ${from}`);
  const types = await queryDuckdb(':memory:', `DESCRIBE SELECT * FROM ${from}`);
  return { rows, types: types.map(({ column_type }) => column_type) };
}

it('keeps each text as it is: zeros, quotes, line ends, backslashes, empty and missing', () =>
  withFolder(async (folder) => {
    const csv = `zip,"a ""b""",constructor\n01001,"says ""hi""\r\n",\\.\n,"",NULL\n" 5 ",a'b,"\\."\n`;
    const columns = ['zip', 'a "b"', 'constructor'];
    expect(await throughParquet(folder, csv, { columns, records: 3 })).toEqual({
      rows: [
        { zip: '01001', 'a "b"': 'says "hi"\r\n', constructor: '\\.' },
        { zip: null, 'a "b"': '', constructor: 'NULL' },
        { zip: ' 5 ', 'a "b"': "a'b", constructor: '\\.' },
      ],
      types: ['VARCHAR', 'VARCHAR', 'VARCHAR'],
    });
  }));

it('reads a large file whose values hold lines with as many fields as a row', () =>
  withFolder(async (folder) => {
    const note = 'one,two\n'.repeat(40_000);
    const csv = `id,note\n${Array.from({ length: 40 }, (_, at) => `${at},"${note}"\n`).join('')}`;
    const { rows } = await throughParquet(folder, csv, { columns: ['id', 'note'], records: 40 });
    expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: 40 }, (_, at) => String(at)));
    expect(rows.every((row) => row.note === note)).toBe(true);
  }));

it('writes columns with a type as such; empty is null', () =>
  withFolder(async (folder) => {
    const types: Record<string, ColumnType> = {
      i: 'integer',
      b: 'bigint',
      d: 'double',
      m: 'decimal(10,2)',
      o: 'boolean',
      a: 'date',
      t: 'timestamp',
    };
    const csv = `i,b,d,m,o,a,t\n-007,9007199254740993,1e-3,12345678.90,yes,2024-02-29,2026-11-20T03:10:02.5Z\n,"",,"",,"",\n`;
    expect(await throughParquet(folder, csv, { columns: Object.keys(types), types, records: 2 })).toEqual({
      rows: [
        {
          i: -7,
          b: '9007199254740993',
          d: 0.001,
          m: '12345678.90',
          o: true,
          a: '2024-02-29',
          t: '2026-11-20 03:10:02.5',
        },
        { i: null, b: null, d: null, m: null, o: null, a: null, t: null },
      ],
      types: ['INTEGER', 'BIGINT', 'DOUBLE', 'DECIMAL(10,2)', 'BOOLEAN', 'DATE', 'TIMESTAMP'],
    });
  }));

it('a value that its type would change is an error with column, row and value', () =>
  withFolder(async (folder) => {
    const wrong: [ColumnType, string][] = [
      ['integer', '2147483648'],
      ['integer', '1.5'],
      ['bigint', '1_000'],
      ['bigint', '0x1F'],
      ['bigint', ' 5'],
      ['double', '1e400'],
      ['double', 'nan'],
      ['decimal(5,2)', '1.239'],
      ['decimal(5,2)', '1234.5'],
      ['boolean', '2'],
      ['date', '2024-02-30'],
      ['date', '2024-01-01 10:00'],
      ['timestamp', '2024-01-01T10:00:00+02:00'],
      ['timestamp', '2024-01-01T10:00:00.1234567Z'],
    ];
    const columns = wrong.map((_, at) => `c${at}`);
    const types = Object.fromEntries(wrong.map(([type], at) => [`c${at}`, type]));
    const values = wrong.map(([, value]) => value);
    const right = ['7', '+7', '-7', '07', '7', '7', '.7', '7.10', '7.1000', 'T', '2024-02-29', '2024-01-01'];
    right.push('2024-01-01', '2024-01-01T10:00:00.1234560+00:00');
    const csv = [columns, right, values, values].map((fields) => `${fields.join(',')}\n`).join('');
    const error = await throughParquet(folder, csv, { columns, types, records: 3 }).catch((thrown) => thrown);
    expect(error).toMatchObject({
      code: 'OUTPUT_TYPE_MISMATCH',
      exitCode: 2,
      facts: {
        column: 'c0',
        type: 'integer',
        row: 2,
        value: '"2147483648"',
        values: 2,
        columns: wrong.length,
      },
    });
    const lines = wrong.map(([type, value], at) => `\n  "c${at}" is ${type}: "${value}" in row 2 and 1 more`);
    expect(error.message).toBe(`values of the output do not fit output.types:${lines.join('')}`);
  }));

it('a value that is long or unprintable is shown short', () =>
  withFolder(async (folder) => {
    const value = `\u001b[2J${'x'.repeat(500)}`;
    const table: Table = { columns: ['v'], types: { v: 'date' } };
    const error = await throughParquet(folder, `v\n${value}\n`, table).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      message: expect.stringMatching(/"v" is date: "\\u\{1b\}\[2Jx+…" in row 1$/),
    });
    expect((error as Error).message.length).toBeLessThan(200);
  }));

it('takes rows that are longer than DuckDB expects, and refuses other numbers of rows', () =>
  withFolder(async (folder) => {
    const long = 'x'.repeat(5_000_000);
    const { rows } = await throughParquet(folder, `v\n${long}\n`, { columns: ['v'] });
    expect(rows[0]!.v === long).toBe(true);
    const table: Table = { columns: ['v'], records: 5 };
    await expect(throughParquet(folder, 'v\na\n', table)).rejects.toMatchObject({
      code: 'OUTPUT_ROWS_DIFFER',
      exitCode: 6,
    });
  }));

it('a row that is too long for Parquet is named as such', () =>
  withFolder(async (folder) => {
    await expect(
      throughParquet(folder, `v\n${'x'.repeat(31_000_000)}\n`, { columns: ['v'] }),
    ).rejects.toMatchObject({ code: 'OUTPUT_ROW_TOO_LONG', exitCode: 2 });
  }));

it('a file that cannot be written is passing trouble, and a full disk is one', () =>
  withFolder(async (folder) => {
    const csv = join(folder, 'rows.csv');
    writeFileSync(csv, 'v\na\n');
    const write = (parquet: string) =>
      writeParquet({
        csv,
        parquet,
        columns: ['v'],
        types: { v: 'date' },
        records: 1,
        tempFolder: join(folder, 'temp'),
        signal: new AbortController().signal,
      });
    await expect(write('/dev/full')).rejects.toMatchObject({ code: 'OUTPUT_TYPE_MISMATCH' });
    writeFileSync(csv, 'v\n2026-11-27\n');
    // Each write to this device fails as on a full disk.
    await expect(write('/dev/full')).rejects.toMatchObject({ code: 'ENOSPC', path: '/dev/full' });
    const gone = join(folder, 'gone', 'rows.parquet');
    await expect(write(gone)).rejects.toMatchObject({ code: 'PARQUET_NOT_WRITTEN', exitCode: 5 });
  }));

it('gives back awkward rows over several groups with zstd, in their order', () =>
  withFolder(async (folder) => {
    expect(await proveRows(folder, 120_000, writeParquet)).toBe(120_000);
    const metadata = `parquet_metadata('${join(folder, 'rows.parquet')}')`;
    const groups = await queryDuckdb(
      ':memory:',
      `SELECT DISTINCT row_group_id, compression FROM ${metadata}`,
    );
    expect(groups.map(({ compression }) => compression)).toEqual(['ZSTD', 'ZSTD']);
  }));
