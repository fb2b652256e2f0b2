/**
 * The dbt project of examples/dbt over a table that its own config has loaded. `DBT=dbt npx vitest run` this file also
 * has dbt build the project.
 */
import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import type { PredictionErrorCode, PredictionStatus } from '../../../src/types.js';
import { predictedAnswer } from '../../fake-service/parts.js';
import { type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { type Database, usePostgres } from '../../helpers/postgres/postgres.js';
import { callMain } from '../../helpers/processes/call-main.js';

const root = resolve(import.meta.dirname, '../../..');
const example = join(root, 'examples/dbt');
const statuses = { SUCCESSFUL: true, FAILED: true, UNPROCESSED: true } satisfies Record<
  PredictionStatus,
  true
>;
const codes = {
  SERVICE_FAILED: true,
  RECORD_REFUSED: true,
  NOTHING_TO_SEND: true,
  AMBIGUOUS_HELD: true,
  FOLIO_LOST: true,
  FOLIO_ABANDONED: true,
  DEADLINE: true,
} satisfies Record<PredictionErrorCode, true>;

const server = usePostgres();

interface Tests {
  readonly name: string;
  readonly data_tests?: readonly (string | { accepted_values: { arguments: { values: string[] } } })[];
}

/** The accepted values of a column of the source. */
async function acceptedValues(column: string): Promise<string[]> {
  const { sources } = parseYaml(await readFile(join(example, 'models/staging/sources.yml'), 'utf8'));
  const found = (sources[0].tables[0].columns as Tests[]).find(({ name }) => name === column);
  const tests = found!.data_tests!.flatMap((one) => (typeof one === 'string' ? [] : [one.accepted_values]));
  return tests[0]!.arguments.values;
}

/** A file of the project as dbt compiles it: only what these files use of Jinja. */
async function compile(file: string, predictions: 'known' | 'successful' = 'known'): Promise<string> {
  const text = await readFile(join(example, file), 'utf8');
  const sql = text
    .replaceAll(/\{\{ source\('foliopipe', '(\w+)'\) \}\}/g, 'analytics.$1')
    .replace(
      /\{% if var\('predictions'\) == 'successful' %\}([\s\S]*)\{% else %\}([\s\S]*)\{% endif %\}/,
      (_, successful: string, known: string) => (predictions === 'successful' ? successful : known),
    );
  expect(sql).not.toMatch(/\{[{%]/);
  return sql;
}

/** Two nights of the example's own config: in the second one, a business has failed that was answered before. */
async function twoNights(job: Job, database: Database, failing: Set<string>): Promise<void> {
  await database.query('create schema analytics');
  await cp(example, job.folder, { recursive: true });
  const sample = await readFile(join(root, 'data/businesses.csv'), 'utf8');
  const source = join(job.folder, 'businesses.csv');
  const env = {
    ...process.env,
    FOLIOPIPE_SOURCE: source,
    FOLIOPIPE_BASE_URL: job.service.url,
    FOLIOPIPE_TOKEN: job.service.token,
    FOLIOPIPE_DATABASE: database.url,
    FOLIOPIPE_POLL__FIRST: '5ms',
  };
  const night = async () => {
    const { code, stderr } = await callMain(['run'], { cwd: job.folder, env });
    expect(code, stderr).toBe(0);
  };
  await writeFile(source, sample);
  await night();
  failing.add('Renamed Daycare');
  await writeFile(source, sample.replace('Red Rock Daycare', 'Renamed Daycare'));
  await night();
}

async function withTwoNights(use: (job: Job, database: Database) => Promise<void>): Promise<void> {
  const failing = new Set<string>();
  const answer: typeof predictedAnswer = (record) =>
    failing.has(record.name!) ? { status: 'FAILED', added: { reason: 'too dark' } } : predictedAnswer(record);
  await withJob({ behaviour: { answer } }, async (job) => {
    const database = await server.createDatabase();
    await twoNights(job, database, failing);
    await use(job, database);
  });
}

describe('examples/dbt', () => {
  it('accepts every status and every error code, and no other', async () => {
    expect((await acceptedValues('prediction_status')).sort()).toEqual(Object.keys(statuses).sort());
    expect((await acceptedValues('prediction_error_code')).sort()).toEqual(Object.keys(codes).sort());
  });

  it('types what is loaded, in Postgres and in DuckDB, and keeps a prediction that failed tonight', async () => {
    await withTwoNights(async (job, database) => {
      const known = await compile('models/staging/stg_businesses.sql');
      const successful = await compile('models/staging/stg_businesses.sql', 'successful');
      const rows = await database.query(known);
      expect(rows).toHaveLength(1000);
      const kept = rows.filter(({ is_predicted_now: isNow }) => isNow === false);
      expect(kept).toEqual([
        expect.objectContaining({
          account: 'A10000002',
          business_name: 'Renamed Daycare',
          confidence: expect.any(Number),
          answered_at: expect.any(Date),
          error_code: 'SERVICE_FAILED',
        }),
      ]);
      expect(await database.query(successful)).toHaveLength(999);
      expect(await database.query(await compile('tests/reason_fits_status.sql'))).toEqual([]);
      const loads = await database.query('select publication::int, base::int from analytics.foliopipe_loads');
      expect(loads).toEqual([
        { publication: 1, base: null },
        { publication: 2, base: 1 },
      ]);

      const duckdb = await (await DuckDBInstance.create()).connect();
      await duckdb.run(
        `create schema analytics; create table analytics.businesses as
           from read_csv('${join(job.folder, 'out/enriched.csv')}', all_varchar = true)`,
      );
      const same = await duckdb.runAndReadAll(successful);
      expect(same.currentRowCount).toBe(999);
      expect(same.columnNames().map((name) => name.toLowerCase())).toEqual(Object.keys(rows[0]!));
      duckdb.closeSync();
    });
  });

  const withDbt = process.env.DBT === undefined ? () => undefined : it;
  withDbt('is built and tested by dbt', async () => {
    await withTwoNights(async (job, database) => {
      const { hostname, port, username, password, pathname } = new URL(database.url);
      const env = {
        ...process.env,
        DBT_TARGET: 'postgres',
        DBT_SEND_ANONYMOUS_USAGE_STATS: 'false',
        PGHOST: hostname,
        PGPORT: port,
        PGUSER: username,
        DBT_ENV_SECRET_PGPASSWORD: password,
        PGDATABASE: pathname.slice(1),
      };
      const dbt = async (...args: string[]) => {
        const { stdout } = await promisify(execFile)(process.env.DBT!, args, { cwd: job.folder, env });
        return stdout;
      };
      const built = await dbt('build');
      expect(built).toMatch(/PASS=11 WARN=0 ERROR=0/);
      expect(built).not.toMatch(/deprecat/i);
      expect(await dbt('source', 'freshness')).toMatch(/PASS freshness of foliopipe\.businesses/);
      await database.query(`update analytics.foliopipe_loads set loaded_at = now() - interval '30 hours'`);
      expect(await dbt('source', 'freshness')).toMatch(/WARN freshness of foliopipe\.businesses/);
      await database.query(
        `update analytics.businesses set prediction_error_code = 'NEW_CODE' where account = 'A10000002'`,
      );
      await expect(dbt('build')).rejects.toMatchObject({
        stdout: expect.stringMatching(/accepted_values.*prediction_error_code[\s\S]*ERROR=1/),
      });
    });
  });
});
