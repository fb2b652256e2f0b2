/** What stops a load, when it is found, and that the load alone is done again: drift, rights, kills, a server that is down. */
import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { load } from '../../../pipelines/index.js';
import { DatabaseAddress } from '../../../src/config/sections/load-section.js';
import { createLoadTarget } from '../../../src/load/configured-load.js';
import type { LoadRequest } from '../../../src/load/load-target.js';
import { predictedAnswer } from '../../fake-service/parts.js';
import { expectOneLoadAfterKill, killedLoads } from '../../helpers/postgres/killed-load.js';
import { type Business, type LoadedJob, withLoadedJob } from '../../helpers/postgres/loaded-job.js';
import { lockWaits, usePostgres } from '../../helpers/postgres/postgres.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines, runCli } from '../../helpers/processes/cli.js';
import { createGates } from '../../helpers/streams/gates.js';

const listeners = process.listenerCount('SIGTERM');
const server = usePostgres();

it('the server of these tests listens to no signal of their process', () => {
  expect(process.listenerCount('SIGTERM')).toBe(listeners);
});

const businesses: readonly Business[] = Array.from({ length: 25 }, (_, at) => ({
  id: `0${1000 + at}`,
  Business: `Fine ${at}`,
}));
const answers = ['naics_code', 'naics_title', 'confidence'];

/** The error that a job ends with before anything was sent. */
async function refusal(job: LoadedJob, changes = {}): Promise<Record<string, unknown>> {
  const error = (await job.failure(changes)) as Error;
  expect(job.service.count('upload'), String(error)).toBe(0);
  const { message } = error;
  return { ...error, message };
}

const columns = (names: readonly string[], more = '') =>
  `create table businesses (${names.map((name) => `"${name}" text`).join(', ')}${more})`;
const source = ['id', 'business', 'address', 'state', 'note'];
const own = ['prediction_status', 'prediction_error_code', 'prediction_error'];
const added = answers.map((name) => `prediction_${name}`);

describe('before anything is paid', () => {
  it.each<[string, string, number, string, object]>([
    ['a table that is not there', '', 2, 'LOAD_TABLE_MISSING', {}],
    [
      'a table without a column of the source',
      columns([...source.slice(1), ...own, ...added]),
      2,
      'LOAD_DRIFT',
      {},
    ],
    [
      'a table without a declared column of the service',
      columns([...source, ...own]),
      2,
      'LOAD_DRIFT',
      { result: { columns: answers } },
    ],
    [
      'a column that nothing fills',
      columns([...source, ...own, ...added], ', other int not null'),
      2,
      'LOAD_DRIFT',
      {},
    ],
    [
      'an answer that must not be null',
      columns([...source, ...own], `, ${added.map((name) => `${name} text not null`).join()}`),
      2,
      'LOAD_DRIFT',
      { result: { columns: answers } },
    ],
    [
      'a key that may be doubled',
      columns([...source, ...own, ...added]),
      2,
      'LOAD_KEY_NOT_UNIQUE',
      { load: { mode: 'merge' } },
    ],
    ['a view', 'create view businesses as select 1 as id', 2, 'LOAD_NOT_A_TABLE', {}],
    ['a name that is none', '', 2, 'LOAD_TABLE_NAME', { load: { table: 'a;drop table b' } }],
    [
      'columns that would be one',
      '',
      2,
      'LOAD_NAMES',
      {
        load: { onSchema: 'add' },
        source: { key: null },
        upload: { columns: { name: 'BUSINESS', address: 'Business', state: 'Business' } },
      },
    ],
    ['a database that does not exist', '', 2, 'LOAD_DATABASE_MISSING', 'nowhere'],
    ['a server that is down', '', 5, 'LOAD_UNREACHABLE', 'down'],
    ['a wrong password', '', 7, 'LOAD_REFUSED', 'password'],
  ] as never)('finds %s', async (_, sql, exitCode, code, changes) => {
    await withLoadedJob(server, { mode: 'replace', onSchema: 'fail' }, async (job) => {
      await job.write(businesses);
      if (code === 'LOAD_NAMES') await writeFile(job.sourcePath, 'BUSINESS,Business\na,b\n');
      if (sql !== '') await job.database.query(sql);
      const { url } = job.database;
      const into = {
        nowhere: `${url}_`,
        down: url.replace(/:\d+\//, ':9/'),
        password: url.replace(/:\w+@/, ':wr0ng-password@'),
      }[String(changes)];
      const error = await refusal(job, into === undefined ? (changes as object) : { load: { into } });
      expect(error).toMatchObject({ code, exitCode });
      expect(error.hint).toBeTruthy();
      expect(JSON.stringify(error)).not.toContain(new URL(url).password);
      expect(JSON.stringify(error)).not.toContain('wr0ng-password');
      expect(await job.database.query("select to_regclass('foliopipe_loads') as loads")).toEqual([
        { loads: null },
      ]);
    });
  });
});

it('columns that only the canary tells are checked after it, before more is paid', async () => {
  await withLoadedJob(server, { mode: 'replace', onSchema: 'fail' }, async (job) => {
    const config = { chunks: { canary: 5 } };
    await job.write(businesses);
    await job.database.query(columns([...source, ...own, ...added.slice(1)]));
    for (const _ of ['the first time', 'and again']) {
      expect(await job.failure(config)).toMatchObject({
        code: 'LOAD_DRIFT',
        exitCode: 2,
        message: expect.stringContaining('it lacks "prediction_naics_code"'),
      });
      expect(job.service.count('upload')).toBe(1);
    }
    await job.database.query('alter table businesses add prediction_naics_code text');
    expect((await job.enrich(config)).load).toMatchObject({ state: 'loaded', written: 25 });
  });
});

it('without a canary, columns are checked when the first chunk is merged, and no more is uploaded then', async () => {
  await withLoadedJob(server, { mode: 'replace', onSchema: 'fail' }, async (job) => {
    const config = {
      chunks: { canary: 0, maxRecords: 1 },
      concurrency: { uploads: 1, folios: 1, downloads: 1 },
    };
    await job.write(businesses);
    await job.database.query(columns([...source, ...own]));
    const error = await job.failure(config);
    expect(error).toMatchObject({ code: 'LOAD_DRIFT', exitCode: 2 });
    const paid = job.service.count('upload');
    expect(paid).toBeLessThan(businesses.length);
    expect(await job.failure(config)).toMatchObject({ code: 'LOAD_DRIFT', exitCode: 2 });
    expect(job.service.count('upload')).toBe(paid);
    await job.database.query(`alter table businesses ${added.map((name) => `add ${name} text`).join(', ')}`);
    expect((await job.enrich(config)).load).toMatchObject({ state: 'loaded', written: 25 });
  });
});

describe('rights', () => {
  it('are checked before anything is paid, and the listed ones are enough', async () => {
    await withLoadedJob(server, { mode: 'merge', onRemoved: 'delete', onSchema: 'fail' }, async (job) => {
      const { database } = job;
      const into = await database.role(`loader_${Date.now()}`, 'pa55word-of-loader');
      const role = new URL(into).username;
      await job.write(businesses);
      const config = { load: { into }, result: { columns: answers } };
      await database.query(columns([...source, ...own, ...added], ', primary key (id)'));
      // The table of the loads cannot be created.
      expect(await refusal(job, config)).toMatchObject({ code: 'LOAD_DENIED', exitCode: 7 });
      await database.query(`grant create on schema public to ${role}`);
      for (const right of ['select', 'insert', 'update', 'delete']) {
        expect(await refusal(job, config), right).toMatchObject({ code: 'LOAD_DENIED', exitCode: 7 });
        await database.query(`grant ${right} on businesses to ${role}`);
      }
      expect((await job.enrich(config)).load).toMatchObject({ state: 'loaded', written: 25 });
      expect(await job.table()).toEqual(await job.rows());
      // Only the owner of a table may add a column.
      await job.write([...businesses, { id: 'N', Business: 'New' }]);
      await database.query('alter table businesses drop column note');
      const paid = job.service.count('upload');
      const drift = await job.failure({ ...config, load: { into, onSchema: 'add' } });
      expect(drift).toMatchObject({ code: 'LOAD_DRIFT', exitCode: 2 });
      expect(job.service.count('upload')).toBe(paid);
    });
  });
});

describe('drift', () => {
  const more = { ...predictedAnswer({ name: 'x' }).added, region: 'west' };
  const withRegion = { answer: () => ({ status: 'SUCCESSFUL' as const, added: more }) };
  const changes = { result: { onChange: 'add' }, source: { key: null } };

  it('after a paid night leaves the publication in place, and the load is done alone', async () => {
    await withLoadedJob(server, { mode: 'replace' }, async (job) => {
      await job.write(businesses);
      await job.enrich(changes);
      job.service.behaviour = withRegion;
      await job.write([...businesses, { id: 'N', Business: 'New' }]);
      const strict = { ...changes, load: { onSchema: 'fail' } };
      expect(await job.failure(strict)).toMatchObject({ code: 'LOAD_DRIFT', exitCode: 2 });
      expect((await job.manifest()).publication).toBe(2);
      expect(await job.table()).toHaveLength(25);
      const paid = job.service.seen.length;
      await job.database.query('alter table businesses add prediction_region text');
      expect(await load(job.config(strict), 'last')).toMatchObject({ state: 'loaded', written: 26 });
      expect(await job.enrich(strict)).toMatchObject({ load: { state: 'already' } });
      expect(job.service.seen).toHaveLength(paid);
      expect(await job.table()).toEqual(await job.rows());
    });
  });

  it('adds columns where the config says so, and leaves those that are gone', async () => {
    await withLoadedJob(server, { mode: 'replace' }, async (job) => {
      await job.write(businesses);
      await job.enrich(changes);
      job.service.behaviour = withRegion;
      await job.write([...businesses, { id: 'N', Business: 'New' }]);
      expect((await job.enrich(changes)).load).toMatchObject({ written: 26, added: ['prediction_region'] });
      expect(await job.table()).toEqual(await job.rows());
      const fewer = { ...changes, output: { columns: ['id', 'Business'] } };
      expect(await job.failure({ ...fewer, load: { onSchema: 'fail' } })).toMatchObject({
        code: 'LOAD_DRIFT',
      });
      await job.enrich(fewer);
      const rows = (await job.rows()).map((row) => ({ address: null, state: null, note: null, ...row }));
      expect(await job.table()).toEqual(rows);
    });
  });

  it('of types: values are cast, and one that does not fit ends the load without a trace', async () => {
    await withLoadedJob(server, { mode: 'merge', onSchema: 'fail' }, async (job) => {
      await job.write(businesses);
      await job.database.query(
        `create table businesses (id varchar(6) primary key, business varchar(10), address text, state char(2), note date,
           prediction_status text, prediction_error_code text, prediction_error text,
           prediction_naics_code integer, prediction_naics_title text, prediction_confidence numeric(3, 2),
           seen timestamptz not null default now())`,
      );
      expect((await job.enrich()).load).toMatchObject({ written: 25 });
      const [typed] = await job.database.query('select * from businesses where id = $1', ['01000']);
      const [row] = await job.rows();
      expect(typed).toMatchObject({ note: null, prediction_naics_code: Number(row!.prediction_naics_code) });
      await job.write([{ ...businesses[0]!, Note: '2026-02-30' }, ...businesses.slice(1)]);
      expect(await job.failure()).toMatchObject({ code: 'LOAD_VALUE_UNFIT', exitCode: 2 });
      await job.write([{ ...businesses[0]!, Business: 'Longer than ten' }, ...businesses.slice(1)]);
      expect(await job.failure()).toMatchObject({ code: 'LOAD_VALUE_UNFIT', exitCode: 2 });
      expect(await job.loads()).toHaveLength(1);
      expect(await job.database.query("select 1 from businesses where business like 'Longer%'")).toEqual([]);
    });
  });
});

describe('a kill', () => {
  it.each(killedLoads)('%s in mode %s: the same command loads the content once', async (armed, mode) => {
    await withLoadedJob(server, { mode }, async (job) => {
      await job.write(businesses);
      await expectOneLoadAfterKill(job, armed);
      expect(await job.table()).toEqual(await job.rows());
    });
  });

  it.each([
    'after-load-piece-before-next',
    'after-load-copy-before-rows',
    'after-load-rows-before-commit',
  ] as const)('of the server %s: exit 5, and the same command loads the content once', async (window) => {
    await withLoadedJob(server, { mode: 'append' }, async (job) => {
      await job.write(businesses);
      let killed: Promise<void> | undefined;
      const at = (point: string) => {
        if (point === window) killed ??= server.kill();
      };
      expect(await job.failure({}, { at })).toMatchObject({ code: 'LOAD_UNREACHABLE', exitCode: 5 });
      await killed;
      expect(await job.failure()).toMatchObject({ code: 'LOAD_UNREACHABLE', exitCode: 5 });
      expect((await job.manifest()).publication).toBe(1);
      await server.start();
      expect((await job.enrich()).load).toMatchObject({ state: 'loaded', written: 25 });
      expect(await job.table()).toEqual(await job.rows());
      expect(await job.loads()).toHaveLength(1);
    });
  });

  it('by a signal undoes the load: exit 143', async () => {
    await withLoadedJob(server, { mode: 'append' }, async (job) => {
      await job.write(businesses);
      const env = { FOLIOPIPE_CRASH_AT: 'after-load-piece-before-next:term' };
      const stopped = await runCli(['run', job.file], { env });
      expect(stopped.code, stopped.stderr).toBe(143);
      // The load alone asks no service.
      const { service: _, ...rest } = JSON.parse(await readFile(job.file, 'utf8'));
      await writeFile(job.file, JSON.stringify(rest));
      const { code, stderr } = await callMain(['load', job.file]);
      expect(code, stderr).toBe(0);
      expect(stderr).toContain('is loaded into businesses of postgres://127.0.0.1:');
      expect(await job.table()).toEqual(await job.rows());
    });
  });
});

it('status says whether and when the publication was loaded, and how to do it again', async () => {
  await withLoadedJob(server, { mode: 'replace' }, async (job) => {
    await job.write(businesses);
    const statusOf = async () => {
      const { stdout } = await callMain(['status', job.file]);
      const json = jsonLines((await callMain(['status', '--json', job.file])).stdout).at(-1) as {
        readonly load: object;
      };
      return { text: stdout, load: json.load };
    };
    const { run } = await job.enrich({ load: { into: 'none' } });
    const again = `to load it: foliopipe load -c ${job.file} ${run}`;
    const pending = await statusOf();
    expect(pending.load).toMatchObject({ state: 'pending', publication: 1, at: null });
    expect(pending.text).toContain(
      `publication 1 is not loaded into businesses of ${job.database.place} yet; ${again}`,
    );
    await job.database.query('create view businesses as select 1 as id');
    expect((await callMain(['load', job.file])).code).toBe(2);
    const failed = await statusOf();
    expect(failed.load).toMatchObject({ state: 'failed', code: 'LOAD_NOT_A_TABLE', at: expect.any(Number) });
    expect(failed.text).toMatch(
      /the attempt at \S+Z failed \(LOAD_NOT_A_TABLE\): "public.businesses" is not a table; to load it/,
    );
    expect((await callMain(['runs', job.file])).stdout).toContain('  load failed');
    await job.database.query('drop view businesses');
    await load(job.config(), run);
    const loaded = await statusOf();
    expect(loaded.load).toMatchObject({ state: 'loaded', written: 25, publication: 1, why: null });
    expect(loaded.text).toContain('25 rows written, 0 rows deleted, at 20');
    // That the table has it already is no news.
    await load(job.config(), run);
    expect((await statusOf()).load).toEqual(loaded.load);
  });
});

describe('two loads at once', () => {
  const columns = ['id', 'name', 'status', 'code', 'error'].map((name, at) => ({
    name,
    role: at < 2 ? ('source' as const) : at === 2 ? ('status' as const) : ('reason' as const),
  }));
  const text = 'id,name,status,code,error\n1,a,SUCCESSFUL,,\n2,b,FAILED,X,y\n';
  const requestOf = (publication: number, changes: Partial<LoadRequest> = {}): LoadRequest => ({
    pipeline: 'nightly',
    table: 'Businesses',
    mode: 'append',
    onSchema: 'add',
    onRemoved: 'keep',
    columns,
    run: 'run',
    publication,
    file: {
      bytes: text.length,
      sha256: createHash('sha256').update(text).digest('hex'),
      records: 2,
      open: async function* () {
        yield Buffer.from(text);
      },
    },
    delta: null,
    ...changes,
  });
  const options = { signal: new AbortController().signal, at: () => undefined };
  const openTarget = async () => {
    const database = await server.createDatabase();
    const address = new DatabaseAddress(database.url);
    const target = createLoadTarget({ address, connectMs: 5_000, tempFolder: '' });
    const rows = () => database.query('select count(*)::int as rows from businesses');
    return { database, rows, load: (request: LoadRequest) => target.load(request, options) };
  };

  it('of one publication load it once', async () => {
    const { rows, load: loadIt } = await openTarget();
    const request = requestOf(1);
    const loaded = await Promise.all([1, 2, 3].map(() => loadIt(request)));
    expect(loaded.map(({ already }) => already).sort()).toEqual([false, true, true]);
    expect(await rows()).toEqual([{ rows: 2 }]);
    const short = requestOf(2, { file: { ...request.file, records: 3 } });
    await expect(loadIt(short)).rejects.toMatchObject({ code: 'LOAD_ROWS_DIFFER', exitCode: 6 });
    expect(await rows()).toEqual([{ rows: 2 }]);
  });

  /** Begins the second load while the first one reads its file, and waits until it is held up. */
  const overlap = async (
    { database, load: loadIt }: Awaited<ReturnType<typeof openTarget>>,
    first: LoadRequest,
    second: LoadRequest,
  ) => {
    const { enter, open, waiting } = createGates<string>();
    const slow = async function* () {
      yield* first.file.open();
      await enter('the end of its file');
    };
    const one = loadIt({ ...first, file: { ...first.file, open: slow } });
    await expect.poll(waiting).toHaveLength(1);
    const other = loadIt(second);
    await expect.poll(() => lockWaits(database)).toHaveLength(1);
    open('the end of its file', '');
    return Promise.all([one, other]);
  };

  it('of two publications come one after the other: the table never has the rows of both', async () => {
    const target = await openTarget();
    const replacing = (publication: number) => requestOf(publication, { mode: 'replace' });
    await target.load(replacing(1));
    const loaded = await overlap(target, replacing(2), replacing(3));
    expect(loaded).toMatchObject([{ removed: 2 }, { removed: 2 }]);
    expect(await target.rows()).toEqual([{ rows: 2 }]);
  });

  it('into two new tables make the list of loads once', async () => {
    const loaded = await overlap(await openTarget(), requestOf(1), requestOf(1, { table: 'Others' }));
    expect(loaded).toMatchObject([{ written: 2 }, { written: 2 }]);
  });
});

describe('the address of the database', () => {
  it('stands in no log, no state and no output', async () => {
    await withLoadedJob(server, { mode: 'append' }, async (job) => {
      await job.write(businesses);
      const config = JSON.parse(await readFile(job.file, 'utf8'));
      const { password } = new URL(config.load.into);
      await writeFile(
        job.file,
        JSON.stringify({ ...config, load: { ...config.load, into: '$' + '{TARGET}' } }),
      );
      const flags = ['--log-file', join(job.folder, 'log'), '--log-level', 'debug', '--json', job.file];
      for (const [command, TARGET] of [
        ['run', job.database.url],
        ['load', job.database.url],
        ['load', job.database.url.replace('127.0.0.1', 'user@127.0.0.1')],
        ['check', job.database.url],
        ['load', `mysql://me:${password}@host/db`],
      ] as const) {
        const { stdout, stderr } = await callMain([command, ...flags], { env: { TARGET } });
        expect(stdout + stderr).not.toContain(password);
        expect(stdout).toContain(command === 'check' ? 'load' : 'summary');
      }
      const files = await readdir(job.folder, { recursive: true, withFileTypes: true });
      for (const file of files.filter((entry) => entry.isFile())) {
        const content = await readFile(join(file.parentPath, file.name));
        expect(content.includes(password), file.name).toBe(false);
      }
    });
  });
});
