/** Sources that DuckDB reads: Parquet files, and a query to a DuckDB file. They are copied as CSV, in their order. */
import { utimesSync } from 'node:fs';
import { chmod, cp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { publish } from '../../../pipelines/index.js';
import { DatabaseAddress } from '../../../src/config/sections/load-section.js';
import { askDuckdb } from '../../../src/spool/ask-duckdb.js';
import { quoteText } from '../../../src/sql-text.js';
import { awkwardRows, expectRows, selectRows } from '../../helpers/csv/awkward-rows.js';
import { queryDuckdb } from '../../helpers/duckdb/query-duckdb.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { expectEnriched } from '../../helpers/jobs/fake-service-job.js';
import { stopAt } from '../../helpers/jobs/interrupted-job.js';
import { readRaw, sourceText } from '../../helpers/jobs/sample-source.js';
import { type SpooledJob, withSpooledJob } from '../../helpers/jobs/spooled-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { killCliAt } from '../../helpers/processes/cli.js';

const newFolder = useSharedFolder();
let folder: string;
/** Runs statements in DuckDB. */
async function inDuckdb(...statements: readonly string[]): Promise<void> {
  await queryDuckdb(':memory:', statements.join(';'));
}

/** Parquet files of the sample source, by the number of their records. */
const counts = [10, 29, 30, 50, 60];
const typed = `values ('01001', null::int, '', 1.50::decimal(9,2), 0.1::double, 'a"b, c',
  '2024-01-02'::date, '2024-01-02 10:00:00+02'::timestamptz, true, [1, 2])`;

beforeAll(async () => {
  folder = await newFolder();
  const made: string[] = [];
  for (const count of counts) {
    const csv = join(folder, `${count}.csv`);
    await writeFile(csv, sourceText(count));
    const rows = `from read_csv('${csv}', all_varchar = true)`;
    made.push(
      `copy (${rows}) to '${join(folder, `${count}.parquet`)}' (format parquet, row_group_size 2048)`,
    );
  }
  await inDuckdb(
    ...made,
    `copy (select 1 as x) to '${folder}/other.parquet'`,
    `copy (select *, 1 as day from (${typed}) as v(zip, "Business", "Address", "State", f, q, d, t, b, l))
     to '${folder}/parts' (format parquet, partition_by (day), filename_pattern 'a')`,
    `attach '${folder}/b.db' as b`,
    `create table b.b as from read_csv('${folder}/60.csv', all_varchar = true)`,
  );
});

/** Puts a file with so many records into the job. */
async function put(job: SpooledJob, name: string, file: number | string): Promise<string> {
  const path = join(job.folder, name);
  await cp(join(folder, typeof file === 'number' ? `${file}.parquet` : file), path, { recursive: true });
  return path;
}

const copyAsSource = async (job: SpooledJob) => {
  const copies = await Promise.all(
    (await job.spooled())
      .filter((name) => name.endsWith('.csv'))
      .map((name) => readFile(join(job.folder, '.foliopipe/spool', name), 'utf8')),
  );
  await writeFile(job.sourcePath, copies.join(''));
};

describe('Parquet', () => {
  it('is copied as CSV in its order, with the exact texts, and copied again only when it has changed', async () => {
    await withSpooledJob({ path: 'b[1]*.parquet' }, async (job) => {
      const path = await put(job, 'b[1]*.parquet', 60);
      // A file that DuckDB would read for the pattern.
      await put(job, 'b1.parquet', 10);
      const summary = await job.enrich();
      expect(summary).toMatchObject({ exitCode: 0, counts: { read: 60 } });
      await copyAsSource(job);
      await expectEnriched(job);
      const rows = readRaw(await job.output());
      expect(rows.map(({ record }) => record.id)).toEqual(
        readRaw(sourceText(60)).map(({ record }) => record.id),
      );
      expect((await job.manifest()) as unknown).toMatchObject({ source: [{ path, records: 60 }] });
      // Touched: copied again, with the same content. Untouched: not read.
      await utimes(path, 1, 1);
      expect(await job.enrich()).toMatchObject({ found: 'done', run: summary.run });
      await job.failure({}, { at: (point) => expect(point).not.toMatch(/spool/) });
      // Changed while it is copied.
      utimesSync(path, 2, 2);
      const change = (point: string) => point === 'after-spool-fill-before-name' && utimesSync(path, 3, 3);
      const changed = { code: 'SOURCE_CHANGED', message: expect.stringContaining('while it was read') };
      expect(await job.failure({}, { at: change })).toMatchObject(changed);
      await put(job, 'b[1]*.parquet', 50);
      expect(await job.enrich()).toMatchObject({ found: 'new', counts: { read: 50 } });
    });
  });

  it('goes on with the same content, and refuses another; publishing again needs the copy alone', async () => {
    await withSpooledJob({ path: '*.parquet' }, async (job) => {
      const first = await put(job, 'a.parquet', 30);
      await put(job, 'b.parquet', 30);
      await job.failure({}, stopAt('after-accepted-before-poll', 3));
      await put(job, 'a.parquet', 29);
      expect(await job.failure()).toMatchObject({ code: 'SOURCE_CHANGED', exitCode: 4 });
      await put(job, 'a.parquet', 30);
      const { run } = await job.enrich();
      expect((await job.runs())[0]).toMatchObject({ id: run, source: { files: [{ name: first }, {}] } });
      const output = await job.output();
      await rm(job.outputPath);
      await rm(first);
      expect(await publish(job.config(), run)).toMatchObject({ counts: { read: 60 } });
      expect(await job.output()).toBe(output);
      expect(job.service.count('upload')).toBe(6);
    });
  });

  it('gives texts of all types: zeros, NULL, empty texts, decimals, times; no column of a folder', async () => {
    await withSpooledJob({ path: 'parts/day=1/*.parquet' }, async (job) => {
      await put(job, 'parts', 'parts');
      await job.enrich();
      const [copy] = (await job.spooled()).filter((name) => name.endsWith('.csv'));
      expect(await readFile(join(job.folder, '.foliopipe/spool', copy!), 'utf8')).toBe(
        'zip,Business,Address,State,f,q,d,t,b,l\n' +
          '01001,,"",1.50,0.1,"a""b, c",2024-01-02,2024-01-02 08:00:00+00,true,"[1, 2]"\n',
      );
    });
  });

  it.each<[string, object]>([
    ['nothing', { code: 'SOURCE_MISSING', exitCode: 4 }],
    [
      'something else',
      {
        code: 'SOURCE_UNREADABLE',
        exitCode: 4,
        message: expect.stringMatching(/a\.parquet: this is no Parquet file/),
        hint: expect.not.stringContaining('disk'),
      },
    ],
    [
      'a name that DuckDB cannot be told',
      {
        code: 'SOURCE_UNREADABLE',
        exitCode: 4,
        message: expect.stringMatching(/b\\\[1\]\.parquet: DuckDB finds no Parquet file whose path has both/),
        hint: expect.stringContaining('rename'),
      },
    ],
    [
      'other columns',
      {
        code: 'SOURCE_HEADERS_DIFFER',
        exitCode: 4,
        message: expect.stringMatching(/in \S+\/a\.parquet \(copied to \S+\.csv\)/),
      },
    ],
  ])('that is %s is an error', async (what, expected) => {
    await withSpooledJob({ path: '*.parquet' }, async (job) => {
      if (what === 'something else')
        await writeFile(join(job.folder, 'a.parquet'), 'PAR1 and so on, for a while');
      if (what === 'a name that DuckDB cannot be told') await put(job, 'b\\[1].parquet', 10);
      if (what === 'other columns') {
        await put(job, 'a.parquet', 10);
        await put(job, 'b.parquet', 'other.parquet');
      }
      expect(await job.failure()).toMatchObject(expected);
      expect(job.service.seen).toEqual([]);
    });
  });

  it('is described by check, planned without a trace, and swept after a kill', async () => {
    await withSpooledJob({ path: 'a.parquet' }, async (job) => {
      await put(job, 'a.parquet', 60);
      const check = await callMain(['check', job.file]);
      expect(check.stdout).toMatch(/ok {4}source: \S+a\.parquet: 5 columns\n/);
      const plan = await callMain(['plan', job.file]);
      expect(plan.stdout).toMatch(/a\.parquet: 60 records/);
      await put(job, 'b.parquet', 'other.parquet');
      const both = await callMain(['plan', job.file, '--source', join(job.folder, '*.parquet')]);
      expect(both.stderr).toMatch(/in \S+a\.parquet and .* in \S+b\.parquet \[SOURCE_HEADERS_DIFFER\]/);
      expect(await job.spooled()).toEqual([]);
      await killCliAt('after-spool-fill-before-name', ['run', job.file]);
      expect(await job.spooled()).toEqual([expect.stringMatching(/^hostile\.d\/new\.\w+\.csv$/)]);
      const end = await callMain(['run', job.file]);
      expect(end, end.stderr).toMatchObject({ code: 0 });
      expect(await job.spooled()).toEqual([
        expect.stringMatching(/^hostile\.d\/[0-9a-f]{16}\.csv$/),
        'hostile.d/parquet.json',
      ]);
    });
  });
});

describe('a query to DuckDB', () => {
  const query = { database: 'duckdb:b.db', sql: 'select * from b order by id' };
  it('is asked read-only, in the order of the query, and not again while its run is unfinished', async () => {
    await withSpooledJob({ query }, async (job) => {
      await put(job, 'b.db', 'b.db');
      await chmod(join(job.folder, 'b.db'), 0o400);
      await job.failure({}, stopAt('after-accepted-before-poll', 3));
      await rm(join(job.folder, 'b.db'));
      expect(await job.enrich()).toMatchObject({ found: 'continued', counts: { read: 60 } });
      await copyAsSource(job);
      await expectEnriched(job);
      expect((await job.manifest()) as unknown).toMatchObject({
        source: [{ path: `query of duckdb:${job.folder}/b.db` }],
      });
    });
  });

  it.each<[string, string, object]>([
    ['no file', '', { code: 'SOURCE_DATABASE_MISSING', exitCode: 2 }],
    [
      'a row that fails',
      `select error('s' || 'top') as "Business"`,
      { code: 'SOURCE_QUERY_INVALID', exitCode: 2 },
    ],
    [
      'a missing table',
      `select * from c -- s3cret`,
      { code: 'SOURCE_QUERY_INVALID', exitCode: 2, hint: expect.stringMatching(/^correct the table "c" in/) },
    ],
  ])('says what is wrong with %s', async (_, sql, expected) => {
    await withSpooledJob({ query }, async (job) => {
      if (sql !== '') await put(job, 'b.db', 'b.db');
      const error = (await job.failure(sql === '' ? {} : { source: { query: { sql } } })) as Error;
      expect(error).toMatchObject(expected);
      expect(error.message).not.toMatch(/LINE|s3cret/);
      expect(await job.spooled()).toEqual([]);
    });
  });

  it('gives a single column without losing a row', async () => {
    const single = { ...query, sql: `select * from (values ('a'), (null), (''), ('b')) v("Business")` };
    await withSpooledJob({ query: single }, async (job) => {
      await put(job, 'b.db', 'b.db');
      const columns = { name: 'Business', address: 'Business', state: 'Business' };
      await job.enrich({ upload: { columns, skipBlank: false } });
      expect(readRaw(await job.output()).map(({ record }) => record.Business)).toEqual(['a', '', '', 'b']);
    });
  });

  it.each([1, 3])('loses nothing of any text, in %i columns', async (columns) => {
    const rows = awkwardRows(columns);
    const signal = new AbortController().signal;
    const address = new DatabaseAddress(`duckdb:${join(folder, 'b.db')}`);
    const sql = selectRows(rows, quoteText);
    const path = await askDuckdb.copy(
      { address, sql, connectMs: 0, tempFolder: join(folder, 'tmp'), signal },
      { folder: join(folder, 'spool'), signal, at: () => undefined },
    );
    await expectRows(path, rows);
  });
});
