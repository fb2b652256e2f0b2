import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { LoadTable } from '../../../src/load/load-target.js';
import { type PrintDialect, printLoad } from '../../../src/load/print/print-load.js';
import type { OutputFormat } from '../../../src/output-format.js';

const table: LoadTable = {
  pipeline: 'nightly',
  table: 'businesses',
  mode: 'replace',
  onSchema: 'add',
  onRemoved: 'keep',
  columns: [
    { name: 'id', role: 'source' },
    { name: 'prediction_status', role: 'status' },
  ],
};

function scriptOf(dialect: PrintDialect, path: string, format: OutputFormat): string {
  return printLoad(
    { table, publication: 1, run: 'r1', sha256: 'ab', file: { path, format, records: 2 } },
    dialect,
  );
}

describe('the script for an output in S3', () => {
  const path = 's3://nightly-out/dt/x.csv.gz';

  it.each<[PrintDialect, string]>([
    [
      'snowflake',
      `from 's3://nightly-out/dt/' storage_integration = INTEGRATION\n  files = ('x.csv.gz')\n  file_format`,
    ],
    [
      'redshift',
      `from '${path}.copy-manifest' iam_role default\n  format csv gzip ignoreheader 1 emptyasnull manifest;`,
    ],
    ['bigquery', `-- aws s3 cp '${path}' 'x.csv.gz'\n-- bq load`],
    ['postgres', `from program 'aws s3 cp ''${path}'' - | gzip -dc' (`],
    ['duckdb', `read_csv('${path}'`],
  ])('of %s names the object', (dialect, part) => {
    const script = scriptOf(dialect, path, 'csv.gz');
    expect(script).toContain(part);
    expect(script).not.toMatch(/file:\/\/|s3:\/\/BUCKET/);
  });

  it('of redshift says how the manifest is written, without which the files beside the output are taken too', () => {
    const [, command] = /^-- First, in a shell: (echo .*) \| aws s3 cp - (.*)$/m.exec(
      scriptOf('redshift', "s3://nightly-out/it's/x.csv", 'csv'),
    )!;
    const text = execFileSync('sh', ['-c', command!], { encoding: 'utf8' });
    expect(JSON.parse(text)).toEqual({ entries: [{ url: "s3://nightly-out/it's/x.csv", mandatory: true }] });
  });

  it('of duckdb says what reads S3', () => {
    expect(scriptOf('duckdb', path, 'csv.gz')).toContain('httpfs');
    expect(scriptOf('duckdb', '/out/x.csv', 'csv')).not.toContain('httpfs');
  });

  it('of bigquery is about the copied file', () => {
    const script = scriptOf('bigquery', 's3://nightly-out/dt/x.csv.zst', 'csv.zst');
    expect(script).toContain("-- zstd -d --keep 'x.csv.zst'");
    expect(script).toMatch(/^-- bq load .* 'x\.csv' c0:string/m);
  });
});

describe('the script for an output on this machine', () => {
  it('names the file', () => {
    expect(scriptOf('snowflake', '/out/x.csv', 'csv')).toContain("put 'file:///out/x.csv' @%");
    expect(scriptOf('postgres', '/out/x.csv', 'csv')).toContain("from '/out/x.csv' (");
    expect(scriptOf('bigquery', '/out/x.csv', 'csv')).toContain("'/out/x.csv' c0:string");
    expect(scriptOf('redshift', '/out/x.csv', 'csv')).toContain("from 's3://BUCKET/x.csv'");
  });

  it('of bigquery is for a shell, which reads quotes differently from SQL', () => {
    const [, words] = /^-- bq (load .*)$/m.exec(scriptOf('bigquery', "/out/it's/x.csv", 'csv'))!;
    const read = execFileSync('sh', ['-c', `printf '%s\\n' ${words}`], { encoding: 'utf8' });
    expect(read.split('\n')).toContain("/out/it's/x.csv");
  });
});

describe.each(['postgres', 'duckdb'] as const)('the script for %s', (dialect) => {
  const scriptWith = (changes: Partial<LoadTable>) =>
    printLoad(
      {
        table: { ...table, ...changes },
        publication: 1,
        run: 'r1',
        sha256: 'ab',
        file: { path: '/x.csv', format: 'csv', records: 2 },
      },
      dialect,
    );

  it('leaves the names of columns unchanged that hold the placeholder of the run', () => {
    const columns: LoadTable['columns'] = [{ name: 'in $1', role: 'source' }, table.columns[1]!];
    const script = scriptWith({ mode: 'append', columns });
    expect(script).toMatch(/insert into businesses as t \("in \$1", "prediction_status", "foliopipe_run"\)/);
    expect(script).toContain(`delete from businesses where "foliopipe_run" = 'r1';`);
  });

  it('records the table and its schema as load.into does', () => {
    const script = scriptWith({ table: 'Analytics."My.Table"' });
    expect(script).toContain('create table if not exists "analytics".foliopipe_loads (');
    expect(script).toContain('delete from Analytics."My.Table";');
    const recorded = dialect === 'postgres' ? 'My.Table' : 'my.table';
    expect(script).toContain(`values ('${recorded}', 'nightly', 1, 'r1', 'ab', 'replace'`);
    expect(() => scriptWith({ table: 'a; drop table b' })).toThrow(
      expect.objectContaining({ code: 'LOAD_TABLE_NAME' }),
    );
  });

  it('has a key with line ends and quotes in comments that do not end early', () => {
    const columns: LoadTable['columns'] = [{ name: 'a"\nb', role: 'key' }, table.columns[1]!];
    const script = scriptWith({ mode: 'merge', columns });
    expect(script).toContain('-- create unique index on businesses ("a""\n-- b");');
  });
});

describe('a table in quotes', () => {
  const named = 'Analytics."My.Table"';

  it.each<[PrintDialect, string, string]>([
    ['snowflake', '"ANALYTICS"."My.Table"', '"ANALYTICS"."FOLIOPIPE_LOADS"'],
    ['redshift', '"analytics"."My.Table"', '"analytics"."foliopipe_loads"'],
    ['bigquery', '`Analytics.My.Table`', '`Analytics.foliopipe_loads`'],
  ])('has that name in the script for %s', (dialect, name, loads) => {
    const file = { path: '/x.csv', format: 'csv', records: 2 } as const;
    const load = { table: { ...table, table: named }, publication: 1, run: 'r1', sha256: 'ab', file };
    const script = printLoad(load, dialect);
    expect(script).toContain(`create table if not exists ${name} (`);
    expect(script).toContain(`create table if not exists ${loads} (`);
    expect(script).toContain("= 'My.Table'");
  });
});
