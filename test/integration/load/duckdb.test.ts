/** Nights that are loaded into a DuckDB file: kills, a file that is held, and places that take no file. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type Config,
  checkSetup,
  load,
  openCheckpointReader,
  printRunLoad,
  type Run,
} from '../../../pipelines/index.js';
import { duckdbProcesses, queryDuckdb } from '../../helpers/duckdb/query-duckdb.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { expectOneLoadAfterKill, killedLoads } from '../../helpers/postgres/killed-load.js';
import { type Business, type LoadedJob, withLoadedJob } from '../../helpers/postgres/loaded-job.js';
import { callMain } from '../../helpers/processes/call-main.js';

const newFolder = useSharedFolder();
let folder: string;
beforeAll(async () => {
  folder = await newFolder();
});

let files = 0;
const warehouses = {
  createDatabase: async () => {
    files += 1;
    const file = join(folder, `${files}.duckdb`);
    const query = (text: string) => queryDuckdb(file, text);
    return { url: `duckdb:${file}`, place: `duckdb:${file}`, file, query };
  },
};

const businesses: readonly Business[] = Array.from({ length: 25 }, (_, at) => ({
  id: `0${1000 + at}`,
  Business: at % 3 === 0 ? `"Best", of\r\n\\. ${at}` : `Müller & Söhne ${at}`,
  Note: at % 2 === 0 ? '' : 'note',
}));
const later = [
  { ...businesses[2]!, Business: 'Renamed' },
  ...businesses.slice(3),
  { id: 'N1', Business: 'New' },
];

/** Newest first. */
async function runsOf({ stateDir, pipeline }: Config): Promise<readonly Run[]> {
  const reader = (await openCheckpointReader(stateDir))!;
  try {
    return await reader.runs(pipeline);
  } finally {
    await reader.close();
  }
}

async function expectOnce(job: LoadedJob): Promise<void> {
  expect(await job.table()).toEqual(await job.rows());
  expect(existsSync(join(job.folder, '.foliopipe', 'loads', 'hostile.d'))).toBe(false);
}

it('holds the last night, and a delta night sends its delta alone: A, B, A', async () => {
  const output = { path: 'out/enriched.csv', delta: true };
  await withLoadedJob(warehouses, { mode: 'merge', onRemoved: 'delete' }, async (job) => {
    const nights = [
      [businesses, { base: null, written: 25, removed: 0 }],
      [later, { base: 1, written: 2, removed: 2 }],
      [businesses, { base: 2, written: 3, removed: 1 }],
    ] as const;
    for (const [night, load] of nights) {
      await job.write(night);
      const done = await job.enrich({ output });
      expect(done.load).toMatchObject({ state: 'loaded', into: job.database.place, ...load });
      await expectOnce(job);
    }
    const { run: a, ...again } = await job.enrich({ output });
    expect(again).toMatchObject({ load: { state: 'already' } });
    expect(duckdbProcesses()).toEqual([]);
    // The last run is A, which was published last, and not B, which has begun last.
    const config = job.config({ output });
    expect(await load(config, 'last')).toMatchObject({ run: a, publication: 3, state: 'already' });
    expect(await printRunLoad(config, 'last', 'snowflake')).toContain(`'hostile', 3, '${a}'`);
    const [{ id: b }] = (await runsOf(config)) as [Run];
    expect(b).not.toBe(a);
    for (const [command, loading] of [
      ['foliopipe load', () => load(config, b)],
      ['foliopipe load --print snowflake', () => printRunLoad(config, b, 'snowflake')],
    ] as const) {
      await expect(loading()).rejects.toMatchObject({
        code: 'OUTPUT_CHANGED',
        message: expect.stringContaining(`holds publication 3 of run ${a}`),
        hint: `load that one with: ${command} ${a}; or go back to this run with: foliopipe publish ${b}; then: ${command} ${b}`,
      });
    }
    await rm(job.outputPath);
    await expect(printRunLoad(config, 'last', 'duckdb')).rejects.toMatchObject({ code: 'OUTPUT_MISSING' });
  });
});

it.each(['append', 'replace', 'merge'])(
  'foliopipe load --print duckdb does what a load does, in mode %s',
  async (mode) => {
    const load = { mode, ...(mode === 'merge' && { onRemoved: 'delete' }) };
    await withLoadedJob(warehouses, load, async (job) => {
      await job.write(businesses);
      await job.enrich();
      await job.write(later);
      await job.enrich({ load: { into: 'none' } });
      const script = await printRunLoad(job.config(), 'last', 'duckdb');
      for (const _ of ['once', 'and again']) {
        // Twice in one session too.
        await queryDuckdb(job.database.file, script + script);
        const rows = (await job.table()).filter(
          (row) => mode !== 'append' || later.some(({ id }) => id === row.id),
        );
        expect(rows).toHaveLength(mode === 'append' ? 2 * later.length - 1 : later.length);
        expect(rows).toEqual(expect.arrayContaining(await job.rows()));
      }
      expect((await job.enrich()).load).toMatchObject({ state: 'already' });
    });
  },
);

describe('foliopipe check of the load', () => {
  async function checked(job: LoadedJob, changes = {}) {
    for await (const item of checkSetup(job.config(changes))) if (item.item === 'load') return item;
    throw new Error('the load is not checked');
  }
  const fail = { load: { onSchema: 'fail' } };

  it('knows the columns that the pipeline has learned, and calls none drift that it does not know', async () => {
    await withLoadedJob(warehouses, { mode: 'merge' }, async (job) => {
      await job.write(businesses);
      await job.enrich();
      const text = expect.stringMatching(/^businesses of duckdb:.*takes the output$/);
      expect(await checked(job, fail)).toMatchObject({ outcome: 'ok', text });
      // Of another service nothing is known.
      const other = { ...fail, service: { name: 'another' } };
      expect(await checked(job, other)).toMatchObject({ outcome: 'ok', text });
      await queryDuckdb(job.database.file, 'alter table businesses drop column prediction_naics_code');
      expect(await checked(job, fail)).toMatchObject({
        outcome: 'failed',
        text: expect.stringContaining('it lacks "prediction_naics_code"'),
        error: { code: 'LOAD_DRIFT' },
      });
    });
  });

  it('is left where the source cannot be read, whose error is told once', async () => {
    await withLoadedJob(warehouses, { mode: 'append' }, async (job) => {
      await rm(job.sourcePath, { force: true });
      expect(await checked(job)).toMatchObject({
        outcome: 'unsure',
        text: expect.stringContaining('columns of the source are not known'),
        error: null,
      });
    });
  });

  it('says that what the local service answers is not loaded', async () => {
    await withLoadedJob(warehouses, { mode: 'append' }, async (job) => {
      await job.write(businesses);
      const service = { baseUrl: null, token: null, embedded: true };
      const endpoint = { baseUrl: job.service.url, token: { reveal: () => job.service.token } };
      for await (const item of checkSetup(job.config({ service }), { endpoint })) {
        if (item.item !== 'load') continue;
        expect(item).toMatchObject({ outcome: 'ok', text: expect.stringContaining('never loaded') });
      }
      expect.hasAssertions();
    });
  });
});

describe('a kill', () => {
  it.each(killedLoads)('%s in mode %s: the same command loads the content once', async (armed, mode) => {
    await withLoadedJob(warehouses, { mode }, async (job) => {
      await job.write(businesses);
      await expectOneLoadAfterKill(job, armed);
      await expectOnce(job);
    });
  });

  it.each([
    ['after-load-piece-before-next', 'merge'],
    ['after-load-copy-before-rows', 'append'],
    ['after-load-rows-before-commit', 'replace'],
  ])(
    'of the DuckDB process %s: exit 5, and the same command loads the content once',
    async (window, mode) => {
      await withLoadedJob(warehouses, { mode }, async (job) => {
        await job.write(businesses);
        const at = (point: string) => {
          if (point === window) for (const pid of duckdbProcesses()) process.kill(pid, 'SIGKILL');
        };
        expect(await job.failure({}, { at })).toMatchObject({ code: 'DUCKDB_ENDED', exitCode: 5 });
        expect((await job.manifest()).publication).toBe(1);
        const paid = job.service.seen.length;
        expect((await job.enrich()).load).toMatchObject({ state: 'loaded', written: 25 });
        expect(job.service.seen).toHaveLength(paid);
        await expectOnce(job);
        expect(await job.loads()).toHaveLength(1);
      });
    },
  );
});

/** A process that holds a database file open. */
async function hold(file: string) {
  const module = createRequire(import.meta.url).resolve('@duckdb/node-api');
  const code = `require(${JSON.stringify(module)}).DuckDBInstance.create(process.argv[1]).then(() => console.log('open')); setInterval(() => {}, 1000)`;
  const child = spawn(process.execPath, ['-e', code, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return {
    pid: child.pid!,
    end: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

describe('before anything is paid', () => {
  it('a file that another process holds is exit 5, and names the process; then the same command goes on', async () => {
    await withLoadedJob(warehouses, { mode: 'append' }, async (job) => {
      await job.write(businesses);
      const holder = await hold(job.database.file);
      const timeouts = { connect: '1s' };
      const error = (await job.failure({ timeouts })) as Error;
      expect(error).toMatchObject({ code: 'LOAD_BUSY', exitCode: 5, facts: { pid: holder.pid } });
      expect(error.message).toContain(`(process ${holder.pid})`);
      expect(job.service.count('upload')).toBe(0);
      // One that lets go of it in time is waited for.
      const end = new Promise((resolve) => setTimeout(resolve, 300)).then(holder.end);
      expect((await job.enrich()).load).toMatchObject({ state: 'loaded' });
      await end;
      await expectOnce(job);
    });
  });

  it.each([
    ['a folder that is not there', 'nowhere/a.duckdb', 'LOAD_DATABASE_MISSING'],
    ['a folder that is a file', 'source.csv/a.duckdb', 'LOAD_DATABASE_MISSING'],
    ['a file that is no database', 'source.csv', 'LOAD_DATABASE_INVALID'],
    ['a folder', 'out', 'LOAD_DATABASE_INVALID'],
  ])('%s is refused', async (_, name, code) => {
    await withLoadedJob(warehouses, { mode: 'append' }, async (job) => {
      await job.write(businesses);
      if (name === 'out') await job.enrich({ load: null });
      const paid = job.service.count('upload');
      const into = `duckdb:${join(job.folder, name)}`;
      const changes = { load: { into }, source: { path: 'source.csv', key: null } };
      if (name === 'out') await job.write(later);
      expect(await job.failure(changes)).toMatchObject({
        code,
        exitCode: 2,
        hint: expect.stringMatching(/./),
      });
      expect(job.service.count('upload')).toBe(paid);
    });
  });

  it('the file of a relative path lies beside the config, and foliopipe check creates none', async () => {
    await withLoadedJob(warehouses, { mode: 'append' }, async (job) => {
      await job.write(businesses);
      const config = JSON.parse(await readFile(job.file, 'utf8'));
      await writeFile(
        job.file,
        JSON.stringify({ ...config, load: { ...config.load, into: 'duckdb:here.duckdb' } }),
      );
      const file = join(job.folder, 'here.duckdb');
      const checked = await callMain(['check', job.file]);
      expect(checked.stdout + checked.stderr).toContain(`businesses of duckdb:${file} takes the output`);
      expect(existsSync(file)).toBe(false);
      const { code, stderr } = await callMain(['run', job.file]);
      expect(code, stderr).toBe(0);
      expect(await queryDuckdb(file, 'select count(*)::int as n from businesses')).toEqual([{ n: 25 }]);
    });
  });
});
