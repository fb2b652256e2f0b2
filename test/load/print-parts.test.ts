/** Statements that load an output of several files read all of them, and each header once at most. */
import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type PrintDialect, printLoad } from '../../src/load/print/print-load.js';
import { withFolder } from '../helpers/folders/folders.js';

const printed = (dialect: PrintDialect, path: string) =>
  printLoad(
    {
      table: {
        pipeline: 'nightly',
        table: 'businesses',
        mode: 'replace',
        onSchema: 'add',
        onRemoved: 'keep',
        columns: [{ name: 'id', role: 'source' }],
      },
      publication: 7,
      run: 'RUN',
      sha256: '',
      file: { path, records: 3, format: 'csv' },
    } as Parameters<typeof printLoad>[0],
    dialect,
  );

it.each([
  ['snowflake', "put 'file:///out/RUN-7/data/*.csv'"],
  ['bigquery', "gcloud storage cp '/out/RUN-7/data/'*.csv gs://BUCKET/RUN-7/data/"],
  ['bigquery', "'gs://BUCKET/RUN-7/data/*.csv'"],
  ['redshift', "'s3://BUCKET/RUN-7/data/'"],
  ['duckdb', "'/out/RUN-7/data/*.csv'"],
] as const)('for %s: %s', (dialect, text) => {
  expect(printed(dialect, '/out/RUN-7/data/')).toContain(text);
});

it('for psql: a command that joins the parts', () =>
  withFolder(async (folder) => {
    const data = join(folder, 'of a night', 'data');
    await mkdir(data, { recursive: true });
    await writeFile(join(data, 'part-00000.csv'), 'id\n1\n"2\nb"\n');
    await writeFile(join(data, 'part-00001.csv'), 'id\n3\n');
    const [, command] = /from program '((?:[^']|'')*)'/.exec(printed('postgres', `${data}/`))!;
    const read = execFileSync('sh', ['-c', command!.replaceAll("''", "'")], { encoding: 'utf8' });
    expect(read).toBe('id\n1\n"2\nb"\n3\n');
  }));
