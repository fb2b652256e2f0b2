/** Nights that are loaded into a real Postgres, in each mode: once, whole, and in order. */
import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from } from 'pg-copy-streams';
import { describe, expect, it } from 'vitest';
import { load as loadRun, printRunLoad, publish } from '../../../pipelines/index.js';
import { createDeadline, deadlineAt } from '../../helpers/jobs/deadline.js';
import { fineNames, withLocalJob } from '../../helpers/jobs/local-job.js';
import { type Business, type LoadedJob, type Row, withLoadedJob } from '../../helpers/postgres/loaded-job.js';
import { usePostgres } from '../../helpers/postgres/postgres.js';

const server = usePostgres();

/** ZIP codes with leading zeros as ids, and names that only a CSV reader gets right. */
const first: readonly Business[] = Array.from({ length: 25 }, (_, at) => ({
  id: `0${1000 + at}`,
  Business: at % 3 === 0 ? `"Best", of\r\n\\. ${at}` : `Müller & Söhne ${at}`,
  Note: at % 2 === 0 ? '' : 'note',
}));
/** Two are gone, one has another name, one another note, and one is new. */
const second: readonly Business[] = [
  ...first
    .slice(2)
    .map((one, at) => (at === 0 ? { ...one, Business: 'Renamed' } : one))
    .map((one, at) => (at === 1 ? { ...one, Note: 'other' } : one)),
  { id: 'N1', Business: 'New' },
];

const sorted = (rows: readonly Row[]) => rows.map((row) => JSON.stringify(Object.entries(row).sort())).sort();
const idsOf = (businesses: readonly Business[]) => businesses.map(({ id }) => id);

async function night(job: LoadedJob, businesses: readonly Business[], changes = {}) {
  await job.write(businesses);
  return job.enrich(changes);
}

describe('load.mode: append', () => {
  it('keeps the rows of every run, and replaces those of a run that is published again', async () => {
    await withLoadedJob(server, { mode: 'append' }, async (job) => {
      const a = await night(job, first);
      expect(a.load).toMatchObject({ state: 'loaded', publication: 1, written: 25, removed: 0 });
      expect(a.load!.into).toBe(job.database.place);
      const rowsOfA = await job.rows();
      expect(await job.table()).toEqual(rowsOfA);
      expect(await job.enrich()).toMatchObject({ found: 'done', load: { state: 'already' } });
      const b = await night(job, second);
      const both = sorted([...rowsOfA, ...(await job.rows())]);
      expect(sorted(await job.table())).toEqual(both);
      const again = await night(job, first);
      expect(again).toMatchObject({
        run: a.run,
        publication: 3,
        load: { state: 'loaded', written: 25, removed: 25 },
      });
      expect(sorted(await job.table())).toEqual(both);
      const counts = await job.database.query(
        'select foliopipe_run as run, count(*)::int as rows from businesses group by 1 order by 1',
      );
      expect(counts).toEqual([a.run, b.run].sort().map((run) => ({ run, rows: run === a.run ? 25 : 24 })));
    });
  });
});

describe('load.mode: replace', () => {
  it('holds the last publication and nothing else: A, B, A', async () => {
    await withLoadedJob(server, { mode: 'replace' }, async (job) => {
      for (const businesses of [first, second, first]) {
        const { load: loaded } = await night(job, businesses);
        expect(loaded).toMatchObject({ state: 'loaded', written: businesses.length });
        expect(await job.table()).toEqual(await job.rows());
      }
      expect(await job.loads()).toMatchObject([
        { publication: 1, base: null, records: 25, written: 25, removed: 0 },
        { publication: 2, base: null, records: 24, written: 24, removed: 25 },
        { publication: 3, base: null, records: 25, written: 25, removed: 24 },
      ]);
    });
  });

  it('refuses to go back to an older publication, and a publication of another state folder', async () => {
    await withLoadedJob(server, { mode: 'replace' }, async (job) => {
      const a = await night(job, first);
      await night(job, second);
      const table = await job.table();
      // Another publication stands in its place.
      await expect(loadRun(job.config(), a.run)).rejects.toMatchObject({ code: 'OUTPUT_CHANGED' });
      const other = { stateDir: 'other-state', output: { path: 'out/other.csv' } };
      expect(await job.failure(other)).toMatchObject({ code: 'LOAD_OLDER', exitCode: 2 });
      await publish(job.config(other), 'last');
      const conflict = await job.failure(other);
      expect(conflict).toMatchObject({ code: 'LOAD_CONFLICT', exitCode: 2 });
      expect(await job.table()).toEqual(table);
      // What the hint says.
      await job.database.query("delete from foliopipe_loads where pipeline = 'hostile'");
      expect((await job.enrich(other)).load).toMatchObject({ state: 'loaded' });
    });
  });
});

describe('load.mode: merge', () => {
  it.each([
    ['the whole output', {}],
    ['the delta', { output: { delta: true } }],
  ])('goes by the key, with %s', async (_, changes) => {
    const isDelta = 'output' in changes;
    await withLoadedJob(server, { mode: 'merge', onRemoved: 'delete' }, async (job) => {
      expect((await night(job, first, changes)).load).toMatchObject({ base: null, written: 25 });
      expect(await job.table()).toEqual(await job.rows());
      const b = await night(job, second, changes);
      expect(b.load).toMatchObject({ state: 'loaded', base: isDelta ? 1 : null, written: 3, removed: 2 });
      expect(await job.table()).toEqual(await job.rows());
      const again = await night(job, first, changes);
      expect(again.load).toMatchObject({ publication: 3, base: isDelta ? 2 : null, written: 4, removed: 1 });
      expect(await job.table()).toEqual(await job.rows());
      expect((await job.enrich(changes)).load).toMatchObject({ state: 'already' });
    });
  });

  it.each([
    ['the whole output', {}],
    ['the delta', { output: { delta: true } }],
  ])('leaves removed keys where onRemoved is keep, with %s', async (_, changes) => {
    await withLoadedJob(server, { mode: 'merge' }, async (job) => {
      await night(job, first, changes);
      const gone = (await job.rows()).slice(0, 2);
      const b = await night(job, second, changes);
      // The table has more rows than the output, and the delta is enough all the same.
      expect(b.load).toMatchObject({ base: 'output' in changes ? 1 : null, written: 3, removed: 0 });
      expect(await job.table()).toEqual([...gone, ...(await job.rows())]);
      // The delta does not name what was removed earlier.
      const whole = await night(job, second.slice(1), { ...changes, load: { onRemoved: 'delete' } });
      expect(whole.load).toMatchObject({ base: null, removed: 3 });
      expect(await job.table()).toEqual(await job.rows());
    });
  });

  it.each([
    ['the whole output', {}],
    ['the delta', { output: { delta: true } }],
  ])('never overwrites a prediction by a failure, with %s', async (_, changes) => {
    await withLoadedJob(server, { mode: 'merge' }, async (job) => {
      await night(job, first, changes);
      const before = await job.table();
      const { id, Business: name } = first[4]!;
      job.failing.add(name);
      await job.write(first.map((one) => (one.id === id ? { ...one, Note: 'looked at' } : one)));
      expect((await job.enrich(changes)).load).toMatchObject({ written: 1 });
      const failed = (await job.rows()).find((row) => row.id === id)!;
      expect(failed).toMatchObject({ prediction_status: 'FAILED', prediction_naics_code: null });
      const then = before.find((row) => row.id === id)!;
      expect((await job.table()).find((row) => row.id === id)).toEqual({
        ...then,
        note: 'looked at',
        prediction_status: 'FAILED',
        prediction_error_code: 'SERVICE_FAILED',
        prediction_error: 'too dark',
      });
      job.failing.clear();
      await job.write([...first, { id: 'N2', Business: 'One more' }]);
      await job.enrich(changes);
      expect(await job.table()).toEqual(await job.rows());
    });
  });

  it('takes an empty text for another value than none, also by the delta', async () => {
    const changes = { output: { delta: true } };
    await withLoadedJob(server, { mode: 'merge' }, async (job) => {
      const notes = async () =>
        (await job.database.query('select id, note from businesses order by id')).map((row) => row.note);
      const source = (one: string, other: string) =>
        `id,Business,Address,State,Note\n1,Ann,1 Main St,MT,${one}\n2,Bob,2 Main St,MT,${other}\n3,Cid,3 Main St,MT,"x"\n`;
      await writeFile(job.sourcePath, source('', '""'));
      await job.enrich(changes);
      expect(await notes()).toEqual([null, '', 'x']);
      await writeFile(job.sourcePath, source('""', '').replace('"x"', 'x'));
      expect((await job.enrich(changes)).load).toMatchObject({ base: 1, written: 2 });
      expect(await notes()).toEqual(['', null, 'x']);
    });
  });

  it('writes no row whose lineage alone is new, and takes the lineage of what it writes', async () => {
    const changes = { output: { lineage: true } };
    await withLoadedJob(server, { mode: 'merge' }, async (job) => {
      const a = await night(job, first, changes);
      const b = await night(job, second, changes);
      expect(b.load).toMatchObject({ written: 3 });
      const runs = (await job.table()).map((row) => [row.id, row.prediction_run]);
      // The changed note of 01003 is no news about its answer, which was bought again all the same.
      const changed = ['01002', '01003', 'N1'];
      const expected = [...idsOf(first), 'N1'].map((id) => [id, changed.includes(id) ? b.run : a.run]);
      expect(runs).toEqual(expected);
    });
  });

  it('refuses a key that the run was not checked by, until the run is published by it', async () => {
    await withLoadedJob(server, { mode: 'merge' }, async (job) => {
      const { run } = await night(job, first);
      const other = { source: { path: 'source.csv', key: ['Business'] } };
      const unchecked = { code: 'LOAD_KEY_UNCHECKED', exitCode: 2 };
      await expect(loadRun(job.config(other), run)).rejects.toMatchObject(unchecked);
      await publish(job.config(other), run);
      // Then only the table has another key.
      await expect(loadRun(job.config(other), run)).rejects.toMatchObject({ code: 'LOAD_KEY_NOT_UNIQUE' });
    });
  });

  it('takes the whole output after a publication that was not loaded', async () => {
    const changes = { output: { delta: true } };
    await withLoadedJob(server, { mode: 'merge', onRemoved: 'delete' }, async (job) => {
      await night(job, first, changes);
      await night(job, second, { ...changes, load: { into: 'none' } });
      const third = [...second, { id: 'N3', Business: 'Third' }];
      expect((await night(job, third, changes)).load).toMatchObject({ base: null, written: 4, removed: 2 });
      expect(await job.table()).toEqual(await job.rows());
    });
  });
});

describe('a delta that was taken away', () => {
  it('is no reason to load nothing: the whole output is loaded', async () => {
    const changes = { output: { delta: true } };
    await withLoadedJob(server, { mode: 'merge', onRemoved: 'delete' }, async (job) => {
      await night(job, first, changes);
      const { run } = await night(job, second, { ...changes, load: { into: 'none' } });
      await rm(`${job.outputPath}.delta.csv`);
      const loaded = await loadRun(job.config(changes), run);
      expect(loaded).toMatchObject({ state: 'loaded', base: null, written: 3, removed: 2 });
      expect(await job.table()).toEqual(await job.rows());
    });
  });
});

describe('what is not loaded', () => {
  it('is a publication with more failures than are tolerated, unless load.partial is set', async () => {
    await withLoadedJob(server, { mode: 'replace' }, async (job) => {
      const strict = { failures: { tolerate: '0%' } };
      job.failing.add(first[1]!.Business);
      const { run, exitCode, load: left } = await night(job, first, strict);
      expect([exitCode, left?.state, left?.why]).toEqual([
        3,
        'left',
        'it ended with exit code 3, and load.partial is false',
      ]);
      await expect(loadRun(job.config(strict), run)).rejects.toMatchObject({
        code: 'LOAD_NOT_LOADABLE',
        exitCode: 2,
      });
      expect(await job.database.query("select to_regclass('businesses') as there")).toEqual([
        { there: null },
      ]);
      const partial = { ...strict, load: { partial: true } };
      expect(await loadRun(job.config(partial), 'last')).toMatchObject({ run, state: 'loaded', written: 25 });
      expect(await job.table()).toEqual(await job.rows());
    });
  });

  it('is a rehearsal', async () => {
    const database = await server.createDatabase();
    const load = { into: database.url, table: 'businesses', mode: 'append', onSchema: 'add' };
    await withLocalJob({ names: fineNames(3), config: { load } }, async (job) => {
      expect((await job.enrich()).load).toMatchObject({ state: 'left', why: 'it is a rehearsal' });
      await expect(loadRun(job.config(), 'last')).rejects.toMatchObject({ code: 'LOAD_NOT_LOADABLE' });
      await expect(printRunLoad(job.config(), 'last', 'snowflake')).rejects.toMatchObject({
        code: 'LOAD_NOT_LOADABLE',
      });
    });
    expect(await database.query("select to_regclass('businesses') as there")).toEqual([{ there: null }]);
  });

  it('is a withheld output, until it is published', async () => {
    await withLoadedJob(server, { mode: 'replace', partial: true }, async (job) => {
      await night(job, first);
      const table = await job.table();
      job.failing.add('New');
      const strict = { failures: { tolerate: '0%', onExceeded: 'withhold' } };
      const { run, state, load: none } = await night(job, second, strict);
      expect([state, none]).toEqual(['withheld', undefined]);
      await expect(loadRun(job.config(strict), run)).rejects.toMatchObject({ code: 'RUN_UNFINISHED' });
      expect(await job.table()).toEqual(table);
      expect(await publish(job.config(strict), run)).toMatchObject({ load: { state: 'pending' } });
      expect(await loadRun(job.config(strict), run)).toMatchObject({ state: 'loaded', written: 24 });
      expect(await job.table()).toEqual(await job.rows());
    });
  });

  it('is a partial output at a deadline, unless load.partial is set: a merge keeps earlier answers', async () => {
    await withLoadedJob(server, { mode: 'merge' }, async (job) => {
      await night(job, first);
      const before = await job.table();
      await job.write(second);
      const finishedAtPoll = ({ chunk }: { chunk: number }) => (chunk === 1 ? 1 : Number.POSITIVE_INFINITY);
      job.service.behaviour = { ...job.service.behaviour, finishedAtPoll };
      const partly = deadlineAt({ 'after-downloaded-before-merge': 1 });
      expect(await job.enrich({}, partly)).toMatchObject({ exitCode: 8, load: { state: 'left' } });
      expect(await job.table()).toEqual(before);
      const partial = { load: { partial: true } };
      const { options, come } = createDeadline();
      job.service.behaviour = { ...job.service.behaviour, hold: async () => come() };
      expect(await job.enrich(partial, { ...options, publishPartial: true })).toMatchObject({
        exitCode: 8,
        load: { state: 'loaded' },
      });
      // The renamed one is answered anew.
      const codes = (rows: readonly Row[]) =>
        rows.filter(({ id }) => id !== second[0]!.id).map((row) => [row.id, row.prediction_naics_code]);
      expect(codes(await job.table())).toEqual([...codes(before), ['N1', null]]);
      expect((await job.table()).filter((row) => row.prediction_status === 'UNPROCESSED')).toHaveLength(14);
    });
  });

  it('is an output that was edited, cut or moved away', async () => {
    await withLoadedJob(server, { mode: 'replace' }, async (job) => {
      const { run } = await night(job, first, { load: { into: 'none' } });
      await appendFile(job.outputPath, 'x,y,z,,,,,,,\n');
      await expect(loadRun(job.config(), run)).rejects.toMatchObject({ code: 'OUTPUT_CHANGED', exitCode: 2 });
      await rm(job.outputPath);
      await expect(loadRun(job.config(), run)).rejects.toMatchObject({ code: 'OUTPUT_MISSING', exitCode: 2 });
      await publish(job.config(), run);
      expect(await loadRun(job.config(), run)).toMatchObject({ state: 'loaded', publication: 2 });
    });
  });
});

describe('an output that ends in .csv.gz', () => {
  const gz = { output: { path: 'out/enriched.csv.gz', delta: true } };

  it('is loaded as a plain one is: whole, then by its delta, once', async () => {
    await withLoadedJob(server, { mode: 'merge', onRemoved: 'delete' }, async (job) => {
      await night(job, first, gz);
      await night(job, second, gz);
      expect(await job.loads()).toMatchObject([{ base: null }, { base: 1, removed: 2 }]);
      expect(await job.enrich(gz)).toMatchObject({ found: 'done', load: { state: 'already' } });
      const table = await job.table();
      // Published as a plain file, it is the same content under a new number.
      expect((await night(job, second)).load).toMatchObject({ state: 'loaded', written: 0, removed: 0 });
      expect(await job.table()).toEqual(table);
      expect(table).toEqual(await job.rows());
    });
  });

  it('is printed with what decompresses it', async () => {
    await withLoadedJob(server, { mode: 'replace' }, async (job) => {
      const none = { ...gz, load: { into: 'none' } };
      await night(job, first, { output: { path: 'out/enriched.csv.gz' }, load: { into: 'none' } });
      expect(await printRunLoad(job.config(none), 'last', 'postgres')).toContain("from program 'gzip -dc ''");
      expect(await printRunLoad(job.config(none), 'last', 'redshift')).toContain('format csv gzip ');
      const parquet = { output: { path: 'out/enriched.parquet' }, load: null };
      await job.enrich(parquet);
      const plain = { load: { into: 'none' } };
      await expect(printRunLoad(job.config(plain), 'last', 'redshift')).rejects.toMatchObject({
        code: 'LOAD_NEEDS_CSV',
        hint: expect.stringContaining('foliopipe publish'),
      });
      await expect(loadRun(job.config(), 'last')).rejects.toMatchObject({ code: 'LOAD_NEEDS_CSV' });
    });
  });
});

describe('foliopipe load --print', () => {
  /** What Postgres needs to run the script of another database, in which only these words differ. */
  const translate = (script: string) =>
    script
      .replaceAll('`', '"')
      .replaceAll(/\bstring\b/g, 'text')
      .replaceAll('varchar(65535)', 'text')
      .replaceAll(/^assert .*$/gm, '');

  it.each(['postgres', 'snowflake', 'bigquery', 'redshift'] as const)(
    'for %s writes statements that do what a load does',
    async (dialect) => {
      await withLoadedJob(server, { mode: 'merge', onRemoved: 'delete' }, async (job) => {
        const none = { load: { into: 'none', table: dialect === 'snowflake' ? 'BUSINESSES' : 'businesses' } };
        const names = async (upper: boolean) =>
          (await job.rows()).map((row) =>
            Object.fromEntries(
              Object.entries(row).map(([name, value]) => [upper ? name.toUpperCase() : name, value]),
            ),
          );
        for (const businesses of [first, second, second]) {
          await night(job, businesses, none);
          const script = await printRunLoad(job.config(none), 'last', dialect);
          await runScript(job.database.url, dialect, translate(script), await readFile(job.outputPath));
          const isUpper = dialect === 'snowflake';
          const rows = await job.database.query(`select * from ${isUpper ? '"BUSINESSES"' : 'businesses'}`);
          const folded = (row: Record<string, unknown>) =>
            Object.fromEntries(
              Object.entries(row).map(([name, value]) => [isUpper ? name : name.toLowerCase(), value]),
            );
          expect(sorted(rows.map((row) => folded(row) as Row))).toEqual(sorted(await names(isUpper)));
        }
      });
    },
  );
});

/** Runs a script in which the staging table is filled by COPY, whatever its own way is. */
async function runScript(url: string, dialect: string, script: string, output: Buffer): Promise<void> {
  const staging = `(${Array.from({ length: 11 }, (_, at) => `c${at} text`).join(', ')})`;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const [before, after] = script.split(
      dialect === 'postgres'
        ? /^\\copy .*$/m
        : /^(?:put|-- bq|create temp table|create or replace temp)[\s\S]*?(?=^begin)/m,
    );
    const isCreated = dialect === 'postgres';
    const create = isCreated
      ? ''
      : `drop table if exists foliopipe_staging; create temp table foliopipe_staging ${staging};`;
    const createTables = isCreated
      ? before!.replace(/^-- create table[\s\S]*?^-- \);/m, (text) =>
          text.replaceAll(/^-- /gm, '').replace('create table', 'create table if not exists'),
        )
      : before!;
    await client.query(createTables + create);
    const copy = client.query(from('copy foliopipe_staging from stdin (format csv, header true)'));
    await pipeline([output], copy);
    await client.query(after!);
  } finally {
    await client.end();
  }
}
