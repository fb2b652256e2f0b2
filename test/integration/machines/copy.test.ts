/** `foliopipe state copy`: a state goes into a database, and back into a folder, and its runs go on there alone. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { copyState, loadConfig, submit } from '../../../pipelines/index.js';
import { copiedTables } from '../../../src/checkpoint/copy/copied-tables.js';
import { derivedColumns } from '../../../src/checkpoint/copy/postgres-rows.js';
import { DatabaseAddress } from '../../../src/config/sections/load-section.js';
import { openSqlite } from '../../../src/sqlite-driver.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, enrichJob, filesHolding, type Job, sourceText } from '../../helpers/jobs/cli-job.js';
import { type Database, openPostgres, type PostgresServer } from '../../helpers/postgres/postgres.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines } from '../../helpers/processes/cli.js';
import { openServe, type Serve, servedFolios } from '../../helpers/service/serve.js';

const folder = useSharedFolder();
let server: PostgresServer;
let serve: Serve;
let dataDir: string;

beforeAll(async () => {
  dataDir = join(await folder(), 'service');
  serve = await openServe(dataDir, { segmentRecords: 7 });
  server = await openPostgres();
}, 60_000);

afterAll(async () => {
  await serve.stop();
  await server.close();
});

const settings = { upload: { duplicates: 'once' }, reuse: { maxAge: '90d', maxMiss: '100%' } };

/** A job with its state in a folder: a night is done, and the next one is uploaded. */
async function withNight(pipeline: string): Promise<{ job: Job; database: Database; env: Job['env'] }> {
  const job = await createJob(await folder(), { pipeline, baseUrl: serve.url, settings });
  await enrichJob(job);
  await writeFile(job.source, sourceText(66));
  const { config, env, folder: cwd } = job;
  await submit(await loadConfig({ files: [config], env, overrides: [], cwd }));
  const database = await server.createDatabase();
  return { job, database, env: { ...env, STATE_URL: database.url } };
}

/** Changes keys of the config. */
async function reconfigure({ config }: Job, changes: object): Promise<void> {
  await writeFile(config, JSON.stringify({ ...JSON.parse(await readFile(config, 'utf8')), ...changes }));
}

it.each(['postgres', 'folder'])(
  'goes on in the copy, and back in a folder, with files in %s',
  async (kind) => {
    const { job, database, env } = await withNight(`moved-${kind}`);
    const call = async (...words: string[]) => {
      const told = await callMain([...words, '-c', job.config, '--json'], { cwd: job.folder, env });
      expect(`${told.stdout}${told.stderr}`).not.toContain(new URL(database.url).password);
      return { ...told, summary: jsonLines(told.stdout).at(-1) as Record<string, never> };
    };
    const ledger = async () => jsonLines((await call('ledger')).stdout);
    const paid = await ledger();
    const files = kind === 'postgres' ? 'postgres' : `file://${join(job.folder, 'parts')}`;
    const copied = await call('state', 'copy', '--to', `\${STATE_URL}`, '--files', files);
    expect(copied, copied.stderr).toMatchObject({
      code: 0,
      summary: {
        from: job.stateDir,
        to: database.place,
        parts: { lost: [] },
        answers: { files: 4, lost: [] },
      },
    });
    // The folder can be read, and sends nothing.
    expect(await ledger()).toEqual(paid);
    expect(await call('run')).toMatchObject({ code: 2, stderr: expect.stringContaining('STATE_MOVED') });
    expect(await call('reuse', 'prune')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('STATE_MOVED'),
    });

    await reconfigure(job, { stateDir: undefined, state: `\${STATE_URL}`, files, scratchDir: 'scratch' });
    expect(await ledger()).toEqual(paid);
    expect(await call('collect')).toMatchObject({ code: 0 });
    expect(await call('plan', '--new')).toMatchObject({ summary: { reuse: { sent: 0 } } });
    const output = await readFile(job.output, 'utf8');

    const back = await call('state', 'copy', '--to', 'back');
    expect(back, back.stderr).toMatchObject({
      code: 0,
      summary: { parts: { lost: [] }, answers: { lost: [] } },
    });
    expect(await call('run')).toMatchObject({ code: 2, stderr: expect.stringContaining('STATE_MOVED') });
    await reconfigure(job, { state: null, files: 'postgres', scratchDir: null, stateDir: 'back' });
    const after = await ledger();
    await rm(job.output);
    expect(await call('publish', 'last')).toMatchObject({ code: 0 });
    expect(await readFile(job.output, 'utf8')).toBe(output);
    expect(await call('run', '--new')).toMatchObject({ code: 0 });
    expect(await readFile(job.output, 'utf8')).toBe(output);
    expect(await ledger()).toHaveLength(after.length);
    expect(await filesHolding(job.folder, new URL(database.url).password)).toEqual([]);
    const { port } = serve;
    await serve.stop();
    // Two nights in chunks of 10, without what was known or equal.
    const names = servedFolios(dataDir).filter(({ fileName }) => fileName.startsWith(`moved-${kind}`));
    serve = await openServe(dataDir, { port, segmentRecords: 7 });
    expect(names.reduce((sum, { records }) => sum + records, 0)).toBe(48 + 1 + 5);
  },
  60_000,
);

it('is begun again after a stop, and neither state is used twice', async () => {
  const { job, database, env } = await withNight('stopped');
  const [from, to] = [
    { state: null, files: null, stateDir: job.stateDir },
    { state: new DatabaseAddress(database.url), files: null, stateDir: join(job.folder, 'scratch') },
  ];
  const copy = (one: typeof from | typeof to, other: typeof to | typeof from, stop = false) => {
    const controller = new AbortController();
    const info = () => stop && controller.abort(new Error('stopped'));
    const logger = { info, debug: () => undefined, warn: () => undefined, error: () => undefined };
    return copyState({ from: one, to: other, pipeline: 'stopped', signal: controller.signal, logger });
  };
  const run = async (...words: string[]) => {
    const told = await callMain([...words, '-c', job.config], { cwd: job.folder, env });
    return /\[([A-Z_]+)\]/.exec(told.stderr)?.[1] ?? told.code;
  };
  await expect(copy(from, to, true)).rejects.toThrow('stopped');
  expect(await run('state', 'copy', '--from', `\${STATE_URL}`, '--to', 'elsewhere')).toBe(
    'STATE_COPY_UNFINISHED',
  );
  // The folder is used until its copy is whole.
  expect(await run('retry', 'last', '--dry-run')).not.toBe('STATE_MOVED');
  const whole = await copy(from, to);
  expect(await run('retry', 'last')).toBe('STATE_MOVED');
  // As after a kill between the two marks.
  const mark = JSON.stringify({ mark: 'copying', place: job.stateDir, at: 0 });
  await database.query('INSERT INTO foliopipe.copy_marks VALUES (true, $1)', [mark]);
  expect(await copy(from, to)).toEqual(whole);
  await expect(copy(from, to)).rejects.toMatchObject({ code: 'STATE_NOT_EMPTY', exitCode: 2 });

  const back = { ...from, stateDir: join(job.folder, 'back') };
  await database.query(
    "INSERT INTO foliopipe.leases VALUES ('stopped', 1, now() + interval '1 minute', NULL)",
  );
  await expect(copy(to, back)).rejects.toMatchObject({ code: 'PIPELINE_LOCKED', exitCode: 11 });
  await database.query("UPDATE foliopipe.leases SET until = now() - interval '1 minute'");
  await expect(copy(to, back, true)).rejects.toThrow('stopped');
  expect(await run('status', '--state-dir', back.stateDir)).toBe('STATE_COPY_UNFINISHED');
  const returned = await copy(to, back);
  expect(returned.tables).toEqual(whole.tables);
  await writeFile(
    join(back.stateDir, 'copy.json'),
    JSON.stringify({ mark: 'copying', place: whole.to, at: 0 }),
  );
  expect((await copy(to, back)).tables).toEqual(whole.tables);
  await expect(copy(to, back)).rejects.toMatchObject({ code: 'STATE_NOT_EMPTY' });
  const third = { ...from, stateDir: join(job.folder, 'third') };
  await expect(copy(to, third)).rejects.toMatchObject({ code: 'STATE_MOVED' });
  await expect(copy(from, back)).rejects.toMatchObject({ code: 'STATE_COPY_PLACES', exitCode: 2 });
});

it('copies every column of every table', async () => {
  const { job, database } = await withNight('columns');
  const state = {
    state: new DatabaseAddress(database.url),
    files: null,
    stateDir: join(job.folder, 'scratch'),
  };
  await copyState({
    from: { state: null, files: null, stateDir: job.stateDir },
    to: state,
    pipeline: 'columns',
  });
  const connection = openSqlite(join(job.stateDir, 'checkpoint.db'));
  const tables = connection
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .pluck()
    .all();
  expect(tables.sort()).toEqual(copiedTables.map(({ name }) => name).sort());
  for (const { name, columns } of copiedTables) {
    // Without generated columns.
    const own = connection.prepare<[], string>(`SELECT name FROM pragma_table_info('${name}')`).pluck().all();
    expect(own.sort(), name).toEqual([...columns].sort());
    const rows = await database.query(
      'SELECT column_name::text AS name FROM information_schema.columns WHERE table_name = $1',
      [name],
    );
    const derived = derivedColumns[name] ?? [];
    expect(rows.map((row) => String(row.name)).sort(), name).toEqual([...columns, ...derived].sort());
  }
  connection.close();
});
