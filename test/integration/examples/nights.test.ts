/** The night scripts of examples/snowflake and examples/bigquery, with stand-ins for the programs of the warehouse. */
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { nodeFlags } from '../../helpers/processes/cli.js';

const root = resolve(import.meta.dirname, '../../..');
const rows = '1,"Best, Ltd",1 Main St,Helena,MT,01001\n2,Müller,2 Main St,Helena,MT,\n';

/** Each one writes its arguments, a call a line, into calls.txt. */
const programs = {
  npx: `shift 2; exec '${process.execPath}' ${nodeFlags.join(' ')} '${join(root, 'dist/bundle/cli.js')}' "$@"`,
  snowsql: `echo "snowsql $*" >> calls.txt
case "$*" in
  *unload.sql) gzip -c export.csv > unload.new/businesses_0_0_0.csv.gz ;;
  *load.sql) exit "$LOAD_EXIT" ;;
esac`,
  bq: `echo "bq $*" >> calls.txt
case "$*" in *query*) if grep -q merge; then exit "$LOAD_EXIT"; fi ;; esac`,
  gcloud: `echo "gcloud $*" >> calls.txt
case "$*" in *cp*) gzip -c export.csv > extract.new/businesses-000000000000.csv.gz ;; esac`,
};

/** Runs a night of the example in the job's folder. @returns its exit code and the calls of the warehouse's programs. */
async function night(job: Job, env: Readonly<Record<string, string>> = {}) {
  await writeFile(join(job.folder, 'calls.txt'), '');
  const own = {
    PATH: `${join(job.folder, 'bin')}:${process.env.PATH}`,
    HOME: job.folder,
    FOLIOPIPE_BASE_URL: job.service.url,
    FOLIOPIPE_TOKEN: job.service.token,
    FOLIOPIPE_POLL__FIRST: '5ms',
    PROJECT: 'shop',
    DATASET: 'analytics',
    BUCKET: 'exports',
    LOAD_EXIT: '0',
    ...env,
  };
  const code = await new Promise<number>((done) => {
    const child = execFile(join(job.folder, 'night.sh'), { cwd: '/', env: own });
    child.once('close', (end) => done(end ?? -1));
  });
  const calls = (await readFile(join(job.folder, 'calls.txt'), 'utf8')).split('\n').filter(Boolean);
  return { code, calls };
}

async function withExample(name: string, header: string, use: (job: Job) => Promise<void>): Promise<void> {
  await withJob({ files: { 'export.csv': `${header}\n${rows}` } }, async (job) => {
    await cp(join(root, 'examples', name), job.folder, { recursive: true });
    await mkdir(join(job.folder, 'bin'));
    for (const [program, text] of Object.entries(programs)) {
      const file = join(job.folder, 'bin', program);
      await writeFile(file, `#!/bin/sh\nset -e\n${text}\n`);
      await chmod(file, 0o755);
    }
    await use(job);
  });
}

const script = (job: Job) => readFile(join(job.folder, 'load.sql'), 'utf8');

describe('examples/snowflake', () => {
  it('unloads and loads once a night, and after a failure goes on where it stopped', async () => {
    const header = 'ACCOUNT,BUSINESS_NAME,ADDRESS,CITY,STATE,ZIP';
    await withExample('snowflake', header, async (job) => {
      const unload = `snowsql -o exit_on_error=true -o variable_substitution=true -D folder=${job.folder}/unload.new -f unload.sql`;
      const load = 'snowsql -o exit_on_error=true -s analytics -f load.sql';
      expect(await night(job, { FOLIOPIPE_TOKEN: 'wrong' })).toEqual({ code: 7, calls: [unload] });
      expect(await night(job, { LOAD_EXIT: '5' })).toEqual({ code: 5, calls: [load] });
      expect(await night(job)).toEqual({ code: 0, calls: [load] });
      const first = await script(job);
      expect(first).toContain(`put 'file://${job.outputPath}'`);
      expect(first).toMatch(/merge into "ANALYTICS"\."BUSINESSES" t [^;]+ on t\."ACCOUNT" = s\.c0/);
      expect(first).toMatch(/count\(\*\) = 2 /);
      // Snowflake knows no COMMIT TRANSACTION.
      expect(first).toMatch(/^commit;$/m);
      expect(await readdir(join(job.folder, 'unload'))).not.toContain('complete');
    });
  });
});

describe('examples/bigquery', () => {
  it('extracts and loads once a night, and after a failure goes on where it stopped', async () => {
    const header = 'account,business_name,address,city,state,zip';
    await withExample('bigquery', header, async (job) => {
      const bq = 'bq --quiet --headless --project_id=shop --dataset_id=analytics';
      const query = `${bq} query --use_legacy_sql=false`;
      const load = expect.stringMatching(
        new RegExp(`^${bq} load --replace [^']* foliopipe_staging ${job.outputPath} c0:string,`),
      );
      const extract = [
        query,
        'gcloud storage rm --quiet gs://exports/foliopipe/**',
        `${bq} extract --compression=GZIP foliopipe_export gs://exports/foliopipe/businesses-*.csv.gz`,
        'gcloud storage cp gs://exports/foliopipe/* extract.new/',
      ];
      expect(await night(job, { LOAD_EXIT: '5' })).toEqual({ code: 5, calls: [...extract, load, query] });
      expect(await night(job)).toEqual({ code: 0, calls: [load, query] });
      expect(await script(job)).toMatch(/merge into `businesses` t [^;]+ on t\.`account` = /);
      expect(await readdir(join(job.folder, 'extract'))).not.toContain('complete');
    });
  });
});
