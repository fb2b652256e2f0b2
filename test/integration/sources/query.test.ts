/** `source.query`: a database is asked once, in one snapshot, and not again while its run is unfinished. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  backupState,
  enrich,
  type Failpoint,
  publish,
  recover,
  restoreState,
} from '../../../pipelines/index.js';
import { DatabaseAddress } from '../../../src/config/sections/load-section.js';
import { askPostgres } from '../../../src/spool/ask-postgres.js';
import { awkwardRows, expectRows, selectRows } from '../../helpers/csv/awkward-rows.js';
import { withFolder } from '../../helpers/folders/folders.js';
import { filesHolding } from '../../helpers/jobs/cli-job.js';
import { expectEnriched } from '../../helpers/jobs/fake-service-job.js';
import { stopAt, unbrokenOutput } from '../../helpers/jobs/interrupted-job.js';
import { readRaw, sourceText } from '../../helpers/jobs/sample-source.js';
import { type SpooledJob, withSpooledJob } from '../../helpers/jobs/spooled-job.js';
import { throwAt } from '../../helpers/jobs/throw-at.js';
import { type Database, usePostgres } from '../../helpers/postgres/postgres.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines, killCliAt, spawnCli } from '../../helpers/processes/cli.js';

const server = usePostgres();

const sql = "select * from businesses where note <> 's3cret-word' order by id;";

interface QueryJob extends SpooledJob {
  readonly database: Database;
}

/** A table with the records of the sample source, and a query for them. */
async function withQuery(
  records: number,
  use: (job: QueryJob) => Promise<void>,
  query: Record<string, string> = {},
): Promise<void> {
  const database = await server.createDatabase();
  await database.query(
    'create table businesses (id text, "Business" text, "Address" text, "State" text, note text)',
  );
  await insert(database, records);
  const columns = 'id, "Business", "Address", "State", note as "Note"';
  const asked = { database: database.url, sql: sql.replace('*', columns), ...query };
  await withSpooledJob({ query: asked }, (job) => use({ ...job, database }));
}

async function insert(database: Database, records: number): Promise<void> {
  const rows = readRaw(sourceText(records)).map(({ record }) => record);
  await database.query(
    'insert into businesses select * from json_to_recordset($1) as r(id text, "Business" text, "Address" text, "State" text, "Note" text)',
    [JSON.stringify(rows)],
  );
}

describe('Postgres', () => {
  it('is asked once, and enriched as a file of its rows is', async () => {
    await withQuery(60, async (job) => {
      const summary = await job.enrich();
      expect(summary).toMatchObject({ exitCode: 0, counts: { read: 60 } });
      const [copy] = await job.spooled();
      await writeFile(job.sourcePath, await readFile(join(job.folder, '.foliopipe/spool', copy!)));
      await expectEnriched(job);
      const rows = (text: string) => readRaw(text).map(({ record }) => record);
      expect(rows(await job.output())).toEqual(rows(await unbrokenOutput()));
      expect((await job.manifest()) as unknown).toMatchObject({
        source: [{ path: `query of ${job.database.place}`, records: 60 }],
      });
      // The same answer: nothing is paid. Another one is a new run.
      expect(await job.enrich()).toMatchObject({ found: 'done', run: summary.run });
      await job.database.query('delete from businesses where id = $1', ['00001']);
      expect(await job.enrich()).toMatchObject({ found: 'new', counts: { read: 59 } });
    });
  });

  it('is not asked again while its run is unfinished, and --new asks again', async () => {
    await withQuery(60, async (job) => {
      await job.failure({}, stopAt('after-accepted-before-poll', 3));
      await job.database.query('delete from businesses');
      const plan = await callMain(['plan', job.file]);
      expect(plan.stdout).toMatch(/query of postgres:.*: 60 records[\s\S]*goes on with run/);
      expect(plan.stdout).not.toContain('reads the source again');
      const continued = await callMain(['run', job.file, '--json']);
      expect(continued.stderr).toMatch(
        /continuing with what the query of postgres:\S+ gave \d+.* ago; --new asks again/,
      );
      expect(jsonLines(continued.stdout).at(-1)).toMatchObject({ found: 'continued', counts: { read: 60 } });
      expect(job.service.count('upload')).toBe(6);
      // Publishing again needs the copy, and the database not at all.
      const [run] = await job.runs();
      await rm(job.outputPath);
      expect(await publish(job.config(), run!.id)).toMatchObject({ counts: { read: 60 } });
    });
    await withQuery(60, async (job) => {
      await job.failure({}, stopAt('after-accepted-before-poll', 1));
      await job.database.query("delete from businesses where id > '00050'");
      expect(await job.enrich({}, { fresh: true, yes: true })).toMatchObject({
        found: 'new',
        counts: { read: 50 },
      });
    });
  });

  it('is not asked again by the command that puts an interrupted output in place, and --new asks', async () => {
    await withQuery(60, async (job) => {
      const at = throwAt('after-publishing-before-rename');
      await job.failure({}, { at });
      await job.database.query("delete from businesses where id > '00050'");
      const finished = await callMain(['run', job.file, '--json']);
      expect(jsonLines(finished.stdout).at(-1)).toMatchObject({ exitCode: 0, counts: { read: 60 } });
      expect(finished.stderr).toMatch(/gave \d+.* ago is published; run the same command again to ask again/);
      expect(job.service.count('upload')).toBe(6);
      expect(await job.enrich()).toMatchObject({ found: 'new', counts: { read: 50 } });

      await job.database.query("delete from businesses where id > '00040'");
      await job.failure({}, { at });
      await job.database.query("delete from businesses where id > '00030'");
      expect(await job.enrich({}, { fresh: true })).toMatchObject({ found: 'new', counts: { read: 30 } });
    });
  });

  it('is asked again if the copy is gone, and another answer is refused; another query too', async () => {
    await withQuery(60, async (job) => {
      await job.failure({}, stopAt('after-accepted-before-poll', 3));
      await rm(join(job.folder, '.foliopipe/spool'), { recursive: true });
      await job.database.query("update businesses set note = 'new' where id = '00060'");
      expect(await job.failure()).toMatchObject({ code: 'SOURCE_CHANGED', exitCode: 4 });
      await job.database.query("update businesses set note = 'note 60' where id = '00060'");
      const other = { source: { query: { sql: 'select 1' } } };
      expect(await job.failure(other)).toMatchObject({
        code: 'CONFIG_FROZEN',
        message: expect.stringMatching(/source\.query: "postgres:\S+, sql \w{12}" when it began, /),
      });
      expect(await job.enrich()).toMatchObject({ found: 'continued', counts: { read: 60 } });
    });
  });

  it('is in a backup while its run is unfinished, and a restored or recovered run goes on with the copy', async () => {
    await withQuery(60, async (job) => {
      await job.failure({}, stopAt('after-accepted-before-poll', 3));
      await job.database.query('delete from businesses');
      const { stateDir } = job.config();
      await backupState({ stateDir }, { folder: join(job.folder, 'backup') });
      await rm(join(stateDir, 'checkpoint.db'));
      await recover(job.config());
      const restored = { ...job.config(), stateDir: join(job.folder, 'moved') };
      await restoreState(restored, { folder: join(job.folder, 'backup') });
      expect(await enrich(restored, { yes: true })).toMatchObject({
        found: 'continued',
        counts: { read: 60 },
      });
      await rm(join(job.folder, 'out'), { recursive: true });
      expect(await job.enrich()).toMatchObject({ found: 'continued', counts: { read: 60 } });
      const [run] = await job.runs();
      await backupState({ stateDir }, { folder: join(job.folder, 'done') });
      expect(await readdir(join(job.folder, 'done'))).not.toContain('spool');
      expect(run).toMatchObject({ state: 'done' });
    });
  });

  it('is in a backup of a state whose database was copied before its run began', async () => {
    await withQuery(60, async (job) => {
      await job.enrich();
      const database = join(job.config().stateDir, 'checkpoint.db');
      const before = await readFile(database);
      await job.database.query("update businesses set note = 'new' where id = '00060'");
      await job.failure({}, stopAt('after-accepted-before-poll', 1));
      await writeFile(database, before);
      await backupState(job.config(), { folder: join(job.folder, 'backup') });
      await job.database.query('delete from businesses');
      const restored = { ...job.config(), stateDir: join(job.folder, 'moved') };
      await restoreState(restored, { folder: join(job.folder, 'backup') });
      expect(await enrich(restored, { yes: true })).toMatchObject({
        found: 'continued',
        counts: { read: 60 },
      });
    });
  });

  it('shows neither password nor statement, wherever it is named', async () => {
    await withQuery(60, async (job) => {
      const { password } = new URL(job.database.url);
      const args = [job.file, '--json', '--log-level', 'debug', '--log-file', join(job.folder, 'log')];
      const ends = [await callMain(['check', job.file]), await callMain(['plan', job.file])];
      ends.push(await killCliAt('after-accepted-before-poll:2', ['run', ...args]));
      ends.push(
        await callMain(['status', job.file]),
        await callMain(['run', ...args]),
        await callMain(['status', job.file]),
      );
      expect(ends.map(({ code }) => code)).toEqual([0, 0, null, 0, 0, 0]);
      const shown = JSON.stringify(ends);
      expect(shown).toContain(`ok    source: query of ${job.database.place}: 5 columns`);
      for (const at of [3, 5]) {
        expect(ends[at]!.stdout).toContain(`source: query of ${job.database.place}, copied `);
      }
      for (const secret of [password, 's3cret-word']) {
        expect(shown).not.toContain(secret);
        expect(await filesHolding(job.folder, secret)).toEqual(['job.yaml']);
      }
    });
  });

  it('gives texts, numbers, NULL and empty texts as they are, and dates in ISO form; a single column too', async () => {
    const values = `select * from (values
      (1, '0001', 12345678901234567890.10, 'a,b', null, '', 'say "x"', date '2026-11-03'),
      (2, '#', 0.10, E'two\\nlines', ' ', 'é', E'\\\\.', null),
      (3, null, null, E'cr\\rx', null, null, E'tab\\t', null)) as v(id, "Business", "Address", "State", "Note", e, q, d)`;
    await withQuery(
      0,
      async (job) => {
        const name = new URL(job.database.url).pathname.slice(1);
        await job.database.query(`alter database "${name}" set datestyle = 'German'`);
        await job.enrich();
        const [copy] = await job.spooled();
        expect(await readFile(join(job.folder, '.foliopipe/spool', copy!), 'utf8')).toBe(
          'id,Business,Address,State,Note,e,q,d\n' +
            '1,0001,12345678901234567890.10,"a,b",,"","say ""x""",2026-11-03\n' +
            '2,#,0.10,"two\nlines", ,é,\\.,\n' +
            '3,,,"cr\rx",,,tab\t,\n',
        );
        expect(readRaw(await job.output()).map(({ record }) => [record.Business, record.e])).toEqual([
          ['0001', ''],
          ['#', 'é'],
          ['', ''],
        ]);
      },
      { sql: values },
    );
    const single = { sql: `select * from (values ('a'), (null), (''), ('b')) as v("Business")` };
    await withQuery(
      0,
      async (job) => {
        const columns = { name: 'Business', address: 'Business', state: 'Business' };
        await job.enrich({ upload: { columns, skipBlank: false } });
        expect(readRaw(await job.output()).map(({ record }) => record.Business)).toEqual(['a', '', '', 'b']);
      },
      single,
    );
  });

  it.each<[string, string, object]>([
    ['a server that is down', 'down', { code: 'SOURCE_DATABASE_UNREACHABLE', exitCode: 5 }],
    ['a wrong password', 'password', { code: 'SOURCE_DATABASE_REFUSED', exitCode: 7 }],
    ['a database that does not exist', 'nowhere', { code: 'SOURCE_DATABASE_MISSING', exitCode: 2 }],
    ['a table that it may not read', 'denied', { code: 'SOURCE_DATABASE_DENIED', exitCode: 7 }],
    [
      'a statement that is none',
      'selekt 1',
      invalid('correct source.query.sql in line 1: one statement that reads; nothing was sent'),
    ],
    [
      'a statement that ends too early',
      'select * from',
      invalid('correct source.query.sql, which ends too early: one statement that reads; nothing was sent'),
    ],
    [
      'a column that its table has not',
      'select id,\n  "Busines" from businesses',
      invalid(
        'correct the column "Busines" in source.query.sql in line 2; the database says: Perhaps you meant to reference the column "businesses.Business"; nothing was sent',
      ),
    ],
    [
      'a table that is not there',
      'select * from biz',
      invalid(/^correct the table "biz" in source\.query\.sql in line 1: .* nothing was sent$/),
    ],
    ['two statements', 'select 1; drop table businesses', { code: 'SOURCE_QUERY_INVALID', exitCode: 2 }],
    [
      'a statement that writes',
      'delete from businesses returning *',
      { code: 'SOURCE_QUERY_INVALID', exitCode: 2 },
    ],
    [
      'a function that writes',
      'select nextval(\'counter\') as "Business", 1 as "Address", 1 as "State"',
      { code: 'SOURCE_QUERY_INVALID', exitCode: 2 },
    ],
    [
      'a row that fails',
      'select 1 / (60 - id::int) as "Business", \'\' as "Address", \'\' as "State" from businesses',
      { code: 'SOURCE_QUERY_INVALID', exitCode: 2 },
    ],
    ['a missing column', 'select 1 as "Business"', { code: 'CONFIG_COLUMN_MISSING', exitCode: 2 }],
    ['no row', 'select * from businesses where false', { exitCode: 4 }],
  ])('says what is wrong with %s, and leaves nothing', async (_, what, expected) => {
    await withQuery(60, async (job) => {
      const { url } = job.database;
      await job.database.query('create sequence counter');
      const database = {
        down: url.replace(/:\d+\//, ':9/'),
        password: url.replace(/:\w+@/, ':wr0ng-password@'),
        nowhere: `${url}_`,
        denied: what === 'denied' ? await job.database.role(`reader_${Date.now()}`, 'pass') : url,
      }[what];
      const query = database === undefined ? { sql: what } : { database };
      const error = (await job.failure({ source: { query } })) as Error;
      expect(error).toMatchObject(expected);
      expect(JSON.stringify({ ...error, message: error.message })).not.toMatch(/wr0ng-password|pass@/);
      expect(job.service.seen).toEqual([]);
      if (!['no row', 'a missing column'].includes(_)) expect(await job.spooled()).toEqual([]);
      expect(await job.database.query('select count(*)::int from businesses')).toEqual([{ count: 60 }]);
    });
  });

  it('may be lost in the middle, or this process killed or stopped; then it is asked again', async () => {
    await withQuery(60, async (job) => {
      // More than the connection holds by itself.
      const long = `select id, repeat('x', 300000) as long, "Business", "Address", "State" from businesses`;
      let killed: Promise<void> | undefined;
      const at = (point: Failpoint) => {
        if (point === 'after-spool-piece-before-next') killed ??= server.kill();
      };
      expect(await job.failure({ source: { query: { sql: long } } }, { at })).toMatchObject({
        code: 'SOURCE_DATABASE_UNREACHABLE',
        exitCode: 5,
      });
      await killed;
      expect(await job.spooled()).toEqual([]);
      await server.start();
      for (const point of ['after-spool-piece-before-next:2', 'after-spool-before-check']) {
        await killCliAt(point, ['run', job.file, '--set', `source.query.sql=${long}`]);
        expect(await job.spooled()).toHaveLength(1);
      }
      const waiting = spawnCli(['run', job.file, '--set', 'source.query.sql=select pg_sleep(600)']);
      await waiting.waitFor('stderr', /asking for the source/);
      await expect
        .poll(() =>
          job.database.query(
            "select 1 from pg_stat_activity where query like '%copy%pg_sleep%' and pid <> pg_backend_pid()",
          ),
        )
        .toHaveLength(1);
      waiting.kill('SIGTERM');
      expect((await waiting.ended).code).toBe(143);
      const end = await callMain(['run', job.file, '--json']);
      expect(jsonLines(end.stdout).at(-1)).toMatchObject({ exitCode: 0, counts: { read: 60 } });
      expect(await job.spooled()).toHaveLength(1);
    });
  });

  it.each([1, 3])('loses nothing of any text, in %i columns', async (columns) => {
    const rows = awkwardRows(columns);
    const { url } = await server.createDatabase();
    await withFolder(async (folder) => {
      const signal = new AbortController().signal;
      const literal = (text: string) => `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
      const sql = selectRows(rows, literal);
      const path = await askPostgres.copy(
        { address: new DatabaseAddress(url), sql, connectMs: 5000, tempFolder: folder, signal },
        { folder, signal, at: () => undefined },
      );
      await expectRows(path, rows);
    });
  });
});

function invalid(hint: string | RegExp): object {
  const told: unknown = typeof hint === 'string' ? hint : expect.stringMatching(hint);
  return { code: 'SOURCE_QUERY_INVALID', exitCode: 2, hint: told };
}
