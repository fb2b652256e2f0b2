/**
 * What a state in Postgres keeps in files: stored answers, choices, doubles and deltas go on on another machine, and a
 * state is copied into a database and back. A machine that is killed loses all that it had.
 */
import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { copyState, loadConfig, submit } from '../../../pipelines/index.js';
import { createLeases } from '../../../src/checkpoint/postgres/lease.js';
import { openShortConnection } from '../../../src/checkpoint/postgres/open-postgres-state.js';
import { createFileLock } from '../../../src/checkpoint/sqlite/pipeline-lock.js';
import { DatabaseAddress } from '../../../src/config/sections/load-section.js';
import { createReleasers } from '../../../src/run/open/releasers.js';
import { openSqlite } from '../../../src/sqlite-driver.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, enrichJob, filesHolding, type Job, sourceText } from '../../helpers/jobs/cli-job.js';
import { endLeases, loseMachine, openSite, type Site } from '../../helpers/postgres/machines.js';
import { type Database, usePostgres } from '../../helpers/postgres/postgres.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines } from '../../helpers/processes/cli.js';
import { useServe } from '../../helpers/service/serve.js';

const RECORDS = 60;
const folder = useSharedFolder();
const server = usePostgres();
const serve = useServe({ segmentRecords: 7 });

const settings = {
  source: { key: ['id'] },
  upload: { duplicates: 'once' },
  reuse: { maxAge: '90d', maxMiss: '100%' },
  output: { delta: true },
  // No other upload is in flight when one is killed.
  concurrency: { uploads: 1 },
};

/** Every night some records are changed, some are new, some are gone, and their order is another. Some are equal. */
function nightText(night: number): string {
  const rows = Array.from({ length: RECORDS }, (_, at) => {
    const id = at + 1 + night * 2;
    const name = id % 7 === 0 ? 'Twin Rivers Roofing' : `Harbor Hardware ${id}`;
    return `${id},${name},${id % 7 === 0 ? 1 : id} Main St,${id % 11 === night ? 'WY' : 'MT'}`;
  });
  const turned = [...rows.slice(night * 9), ...rows.slice(0, night * 9)];
  return `id,BusinessName,Address,State\n${turned.join('\n')}\n`;
}

const holder = { pid: 1, command: 'foliopipe run', since: 0 };

/** The records that the service was sent for a pipeline, by upload. */
async function sentRecords(pipeline: string): Promise<number[]> {
  return (await serve.served(`${pipeline}-`)).map(({ records }) => records);
}

const outputsOf = (output: string) =>
  Promise.all([output, `${output}.delta.csv`].map((path) => readFile(path, 'utf8')));

async function withNights(
  pipeline: string,
  files: 'postgres' | 'folder',
  use: (site: Site, unbroken: Job) => Promise<void>,
): Promise<void> {
  const place = { parent: folder, server, baseUrl: serve.url, records: RECORDS, chunks: 6 };
  const site = await openSite({ ...place, pipeline, files, settings });
  const unbroken = await createJob(await folder(), {
    pipeline: `un${pipeline}`,
    baseUrl: serve.url,
    settings,
  });
  await use(site, unbroken);
}

it(
  'each night is finished on another machine after a kill: the same rows and delta, and nothing is paid twice',
  () =>
    withNights('broken', 'postgres', async (site, unbroken) => {
      const points = [
        'after-accepted-before-poll',
        'after-choice-before-run',
        'after-part-before-downloaded',
        'after-digests-before-delta',
        'after-rename-before-manifest',
        'after-base-before-done',
      ];
      for (const [night, point] of points.entries()) {
        const text = nightText(night);
        await writeFile(site.source, text);
        await writeFile(unbroken.source, text);
        await enrichJob(unbroken);
        const first = await site.machine(`first-${night}`);
        await first.killed(point, 'run');
        await loseMachine(site, first);
        const second = await site.machine(`second-${night}`);
        const ended = await second.call('run', '--json');
        expect(ended, `${point} ${ended.stderr}`).toMatchObject({ code: 0 });
        expect(jsonLines(ended.stdout).at(-1)).toMatchObject({ uploads: { ambiguous: 0 } });
        expect(await outputsOf(site.output), point).toEqual(await outputsOf(unbroken.output));
        await loseMachine(site, second);
      }
      const [sent, known] = [await sentRecords('broken'), await sentRecords('unbroken')];
      expect(sent).toEqual(known);
      // On the last night nearly all was known.
      expect(sent.at(-1)).toBeLessThan(RECORDS / 4);
    }),
  120_000,
);

it('commands for stored answers work on every machine, with the files in a shared folder', () =>
  withNights('commands', 'folder', async (site) => {
    const on = async (name: string, ...words: string[]) => {
      const machine = await site.machine(name);
      const ended = await machine.call(...words, '--json');
      expect(ended, `${words.join(' ')} ${ended.stderr}`).toMatchObject({ code: 0 });
      await endLeases(site);
      return jsonLines(ended.stdout).at(-1) as Record<string, unknown>;
    };
    await writeFile(site.source, nightText(0));
    await on('one', 'run');
    const paid = (await sentRecords('commands')).reduce((sum, records) => sum + records, 0);
    expect(await on('two', 'reuse', 'show')).toMatchObject({ all: { segments: 1 } });
    expect(await on('two', 'reuse', 'forget', '--key', '7')).toMatchObject({
      segments: [{ left: paid - 1 }],
    });
    await writeFile(site.source, nightText(0).replace('Hardware 5,', 'Hardware V,'));
    // The records that share an answer with number 7 are one.
    expect(await on('three', 'plan')).toMatchObject({ reuse: { sent: 2 } });
    await on('three', 'run');
    expect((await sentRecords('commands')).at(-1)).toBe(2);
    expect(await on('four', 'reuse', 'forget', '--all')).toMatchObject({ segments: [{}, {}] });
    // Without its manifest it is no rehearsal.
    const bought = `${site.source}.bought.csv`;
    await copyFile(site.output, bought);
    expect(await on('five', 'reuse', 'import', bought)).toMatchObject({ successful: expect.any(Number) });
    expect(await on('six', 'reuse', 'prune')).toMatchObject({ runs: [] });
    expect(await on('seven', 'plan', '--new')).toMatchObject({ reuse: { sent: 0 } });
  }));

const movedSettings = { upload: { duplicates: 'once' }, reuse: { maxAge: '90d', maxMiss: '100%' } };

/** A job with its state in a folder: a night is done, and the next one is uploaded. */
async function withNight(pipeline: string): Promise<{ job: Job; database: Database; env: Job['env'] }> {
  const job = await createJob(await folder(), { pipeline, baseUrl: serve.url, settings: movedSettings });
  await enrichJob(job);
  await writeFile(job.source, sourceText(66));
  const { config, env, folder: cwd } = job;
  await submit(await loadConfig({ files: [config], env, overrides: [], cwd }));
  const database = await server.createDatabase();
  return { job, database, env: { ...env, STATE_URL: database.url } };
}

/**
 * Changes something while a copy waits for a table.
 * @returns what the copy gives, or its error.
 */
async function whileWaiting(
  database: Database,
  table: string,
  copy: () => Promise<unknown>,
  change: () => Promise<unknown>,
): Promise<unknown> {
  const client = await database.connect();
  await client.query(`BEGIN; LOCK TABLE foliopipe.${table} IN SHARE MODE`);
  const ended = copy().catch((error: unknown) => error);
  const waiting = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'foliopipe.${table}'::regclass`;
  await expect.poll(async () => (await database.query(waiting)).length).toBe(1);
  await change();
  await client.query('ROLLBACK');
  await client.end();
  return ended;
}

/** Changes keys of the config. */
async function reconfigure({ config }: Job, changes: object): Promise<void> {
  await writeFile(config, JSON.stringify({ ...JSON.parse(await readFile(config, 'utf8')), ...changes }));
}

it('a copied state goes on in the copy, and back in a folder', async () => {
  const { job, database, env } = await withNight('moved');
  const call = async (...words: string[]) => {
    const told = await callMain([...words, '-c', job.config, '--json'], { cwd: job.folder, env });
    expect(`${told.stdout}${told.stderr}`).not.toContain(new URL(database.url).password);
    return { ...told, summary: jsonLines(told.stdout).at(-1) as Record<string, never> };
  };
  const ledger = async () => jsonLines((await call('ledger')).stdout);
  const paid = await ledger();
  const files = pathToFileURL(join(job.folder, '100% of the parts')).href;
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
  const status = await call('status');
  expect(status).toMatchObject({
    code: 0,
    summary: { moved: { place: database.place }, nextStop: { code: 'STATE_MOVED' } },
  });
  expect(status.stderr).toContain(`this state was copied to ${database.place} on 20`);
  expect(status.stderr).toMatch(
    /next: write state: \$\{STATE_URL\} into the config .* then: foliopipe status -c \S+job/,
  );
  const backup = await call('state', 'backup', join(job.folder, 'backup'));
  expect(backup).toMatchObject({ code: 0, summary: { runs: 2 } });
  expect(backup.stderr).toContain(`this state was copied to ${database.place} on 20`);
  expect(backup.stderr).toContain('what is backed up is how it was then');
  const watched = await call('status', '--watch');
  expect(watched.stderr.split('this state was copied to')).toHaveLength(2);
  for (const command of ['run', 'plan', 'check']) {
    const refused = await call(command);
    expect(refused.code, command).toBe(2);
    expect(refused.stdout + refused.stderr, command).toMatch(/STATE_MOVED.*in place of stateDir/s);
  }
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
  // Two nights in chunks of 10, without what was known or equal.
  const sent = await sentRecords('moved');
  expect(sent.reduce((sum, records) => sum + records, 0)).toBe(48 + 1 + 5);
});

it('a copy is begun again after a stop, and neither state is used twice', async () => {
  const { job, database, env } = await withNight('stopped');
  const [from, to] = [
    { state: null, files: null, stateDir: job.stateDir },
    { state: new DatabaseAddress(database.url), files: null, stateDir: join(job.folder, 'scratch') },
  ];
  const stop = (controller: AbortController) => controller.abort(new Error('stopped'));
  /** @param afterRows called when the rows are copied. */
  const copy = (
    one: typeof from | typeof to,
    other: typeof to | typeof from,
    afterRows: (controller: AbortController) => void = () => undefined,
  ) => {
    const controller = new AbortController();
    const info = () => afterRows(controller);
    const logger = { info, debug: () => undefined, warn: () => undefined, error: () => undefined };
    return copyState({ from: one, to: other, pipeline: 'stopped', signal: controller.signal, logger });
  };
  const run = async (...words: string[]) => {
    const told = await callMain([...words, '-c', job.config], { cwd: job.folder, env });
    return /\[([A-Z_]+)\]/.exec(told.stderr)?.[1] ?? told.code;
  };
  const releasers = createReleasers();
  const lock = async (name: string) => releasers.add(await createFileLock(job.stateDir).take(name, holder));
  await lock('other');
  await expect(copy(from, to)).rejects.toMatchObject({ code: 'PIPELINE_LOCKED', exitCode: 11 });
  await releasers.close();
  const second = { ...to, state: new DatabaseAddress((await server.createDatabase()).url) };
  for (const place of [second, to]) await expect(copy(from, place, stop)).rejects.toThrow('stopped');
  expect(await run('state', 'copy', '--from', `\${STATE_URL}`, '--to', 'elsewhere')).toBe(
    'STATE_COPY_UNFINISHED',
  );
  const change = (sql: string) => {
    const checkpoint = openSqlite(join(job.stateDir, 'checkpoint.db'));
    checkpoint.exec(sql);
    checkpoint.close();
  };
  // A state that may not know all that was paid for: no journal would show it in the database.
  change("UPDATE uploads SET file_name = 'x' || file_name");
  await expect(copy(from, to)).rejects.toMatchObject({ code: 'CHECKPOINT_BEHIND', exitCode: 2 });
  change('UPDATE uploads SET file_name = substr(file_name, 2)');
  const restored = join(job.stateDir, 'restored.json');
  await writeFile(restored, JSON.stringify({ restoredAt: 1, backupAt: 0, confirmed: [] }));
  await expect(copy(from, to)).rejects.toMatchObject({ code: 'RESTORED_UNCONFIRMED', exitCode: 9 });
  await rm(restored);
  // A pipeline that had no lock before begins in the folder while it is copied.
  const begin = () => change("UPDATE runs SET label = 'begun meanwhile'");
  await expect(copy(from, to, begin)).rejects.toMatchObject({ code: 'STATE_COPY_DIFFERS', exitCode: 5 });
  const locked = whileWaiting(
    database,
    'shared_files',
    () => copy(from, to),
    () => lock('late'),
  );
  expect(await locked).toMatchObject({ code: 'PIPELINE_LOCKED' });
  await releasers.close();
  // The folder is used until its copy is whole.
  expect(await run('retry', 'last', '--dry-run')).not.toBe('STATE_MOVED');
  const whole = await copy(from, to);
  expect(await run('retry', 'last')).toBe('STATE_MOVED');
  // As after a kill between the two marks.
  const mark = JSON.stringify({ mark: 'copying', place: job.stateDir, at: 0 });
  await database.query('INSERT INTO foliopipe.copy_marks VALUES (true, $1)', [mark]);
  expect(await copy(from, to)).toEqual(whole);
  for (const place of [second, to]) {
    await expect(copy(from, place)).rejects.toMatchObject({ code: 'STATE_MOVED', exitCode: 2 });
  }

  const back = { ...from, stateDir: join(job.folder, 'back') };
  const third = { ...from, stateDir: join(job.folder, 'third') };
  await database.query("INSERT INTO foliopipe.workers VALUES ('w', '{}', now(), now())");
  await expect(copy(to, back)).rejects.toMatchObject({ code: 'STATE_COPY_FLEET', exitCode: 11 });
  await database.query('DELETE FROM foliopipe.workers');
  const nothing = { ...to, state: new DatabaseAddress((await server.createDatabase()).url) };
  await expect(copy(nothing, back)).rejects.toMatchObject({ code: 'STATE_MISSING', exitCode: 2 });
  for (const place of [back, third]) await expect(copy(to, place, stop)).rejects.toThrow('stopped');
  expect(await run('status', '--state-dir', back.stateDir)).toBe('STATE_COPY_UNFINISHED');
  // A pipeline without a lease begins in the database while it is copied, and another one has ended meanwhile.
  const leases = await openShortConnection(to.state);
  // A copy waits until it sees a renewal, because the process of a lease may be gone.
  const late = createLeases(async () => leases, { held: undefined }, { lease: 30_000, renew: 500 });
  const label = (text: string) => database.query('UPDATE foliopipe.runs SET label = $1', [text]);
  const changes = [
    ['PIPELINE_LOCKED', async () => releasers.add(await late.take('late', holder))],
    ['STATE_COPY_DIFFERS', () => label('changed')],
  ] as const;
  for (const [code, change] of changes) {
    const copied = whileWaiting(database, 'copy_marks', () => copy(to, back), change);
    expect(await copied).toMatchObject({ code });
    await releasers.close();
  }
  await leases.close();
  await label('begun meanwhile');
  expect(await database.query('SELECT FROM foliopipe.copy_marks')).toEqual([]);
  const returned = await copy(to, back);
  expect(returned.tables).toEqual(whole.tables);
  const backMark = join(back.stateDir, 'copy.json');
  await writeFile(backMark, '{"mark"');
  expect(await run('status', '--state-dir', back.stateDir)).toBe('STATE_COPY_UNFINISHED');
  await writeFile(backMark, JSON.stringify({ mark: 'copying', place: whole.to, at: 0 }));
  expect((await copy(to, back)).tables).toEqual(whole.tables);
  await expect(copy(to, back)).rejects.toMatchObject({ code: 'STATE_NOT_EMPTY' });
  await expect(copy(to, third)).rejects.toMatchObject({ code: 'STATE_MOVED' });
  await expect(copy(from, back)).rejects.toMatchObject({ code: 'STATE_COPY_PLACES', exitCode: 2 });
});

it('a database is refused while the folder has runs that it does not know', async () => {
  const pipeline = 'exported';
  const job = await createJob(await folder(), { pipeline, baseUrl: serve.url });
  await reconfigure(job, { stateDir: undefined });
  const database = await server.createDatabase();
  const call = (env: object, ...words: string[]) =>
    callMain([...words, '-c', job.config], { cwd: job.folder, env: { ...job.env, ...env } });
  const exported = { FOLIOPIPE_STATE: database.url };
  const { length: paid } = await sentRecords(pipeline);
  expect(await call({}, 'run')).toMatchObject({ code: 0 });
  const { length: sent } = await sentRecords(pipeline);
  expect(sent).toBeGreaterThan(paid);
  expect((await call(exported, 'check')).stdout).not.toContain('unset FOLIOPIPE_STATE');
  // Replies of the local service make it a rehearsal, which costs nothing.
  const checkpoint = openSqlite(join(job.folder, '.foliopipe', 'checkpoint.db'));
  checkpoint.exec('UPDATE runs SET rehearsal = 0');
  checkpoint.close();
  for (const command of ['run', 'submit', 'plan', 'check']) {
    const refused = await call(exported, command);
    const told = refused.stdout + refused.stderr;
    expect(refused.code, told).toBe(2);
    if (command !== 'check') expect(told).toContain('[STATE_IN_FOLDER]');
    expect(told.replace(/\s+/g, ' ')).toMatch(
      /set by FOLIOPIPE_STATE.*state copy -c \S+job\.yaml --from .*unset FOLIOPIPE_STATE/,
    );
    expect(told).not.toContain(new URL(database.url).password);
  }
  expect(await sentRecords(pipeline)).toHaveLength(sent);
  const copied = await call(exported, 'state', 'copy', '--from', join(job.folder, '.foliopipe'));
  expect(copied, copied.stderr).toMatchObject({ code: 0 });
  expect(await call(exported, 'run')).toMatchObject({ code: 0 });
  expect(await sentRecords(pipeline)).toHaveLength(sent);
});

it('several states are copied into one database, while it is used', async () => {
  const database = await server.createDatabase();
  /** A job of which all is uploaded, with its state in a folder. */
  const begin = async (pipeline: string, settings = {}) => {
    const job = await createJob(await folder(), { pipeline, baseUrl: serve.url, settings, chunk: 30 });
    const env = { ...job.env, STATE_URL: database.url };
    await submit(await loadConfig({ files: [job.config], env, overrides: [], cwd: job.folder }));
    const call = (...words: string[]) => callMain([...words, '-c', job.config], { cwd: job.folder, env });
    return { job, copy: () => call('state', 'copy', '--to', `\${STATE_URL}`), call };
  };
  const [west, east] = [await begin('west'), await begin('east', { reuse: { maxAge: '90d' } })];
  expect(await west.copy()).toMatchObject({ code: 0 });
  await reconfigure(west.job, { stateDir: undefined, state: `\${STATE_URL}` });
  expect(await west.call('collect')).toMatchObject({ code: 0 });
  const before = await database.query('SELECT * FROM foliopipe.runs');

  // As after a kill before the rows were there: it is not used, and the same command begins again.
  const mark = { mark: 'moving', place: database.place, at: 0 };
  await writeFile(join(east.job.stateDir, 'copy.json'), JSON.stringify(mark));
  expect((await east.call('run')).stderr).toMatch(
    /STATE_COPY_UNFINISHED.*same foliopipe state copy -c \S+job\.yaml again/s,
  );
  // A pipeline without a lock has begun in it, or it has changed since its rows were read: nothing is added, and it is
  // used again.
  const releasers = createReleasers();
  const locked = whileWaiting(database, 'shared_files', east.copy, async () =>
    releasers.add(await createFileLock(east.job.stateDir).take('late', holder)),
  );
  expect(await locked).toMatchObject({ code: 11 });
  await releasers.close();
  const differing = whileWaiting(database, 'uploads', east.copy, async () => {
    const checkpoint = openSqlite(join(east.job.stateDir, 'checkpoint.db'));
    checkpoint.exec("UPDATE runs SET label = 'changed'");
    checkpoint.close();
  });
  expect(await differing).toMatchObject({ stderr: expect.stringContaining('STATE_COPY_DIFFERS') });
  expect(await database.query('SELECT * FROM foliopipe.runs')).toEqual(before);
  await expect(readFile(join(east.job.stateDir, 'copy.json'))).rejects.toMatchObject({ code: 'ENOENT' });
  const copied = await east.copy();
  expect(copied, copied.stderr).toMatchObject({ code: 0 });
  expect(copied.stdout).toMatch(/copied: 1 run, 2 uploads/);
  // The answers that the database holds later are found with a secret of its own.
  const files = await database.query('SELECT name FROM foliopipe.shared_files');
  expect(files.map(({ name }) => String(name).split('/')[1])).toEqual(['choices']);
  expect((await east.call('retry', 'last')).stderr).toMatch(/STATE_MOVED/);
  // As after a kill when they were.
  await writeFile(join(east.job.stateDir, 'copy.json'), JSON.stringify(mark));
  expect((await east.copy()).stderr).toMatch(/STATE_MOVED/);
  expect(await database.query("SELECT * FROM foliopipe.runs WHERE pipeline = 'west'")).toEqual(before);
  await reconfigure(east.job, { stateDir: undefined, state: `\${STATE_URL}` });
  for (const { call } of [west, east]) expect(await call('run')).toMatchObject({ code: 0 });
  expect(await sentRecords('east')).toEqual([30, 30]);
  expect(await sentRecords('west')).toEqual([30, 30]);

  const refused = async (pipeline: string, settings = {}) => {
    const { job, copy, call } = await begin(pipeline, settings);
    if (pipeline === 'north') await call('collect');
    // As after a kill before the rows were there, and a run of this name began in the database since.
    else await writeFile(join(job.stateDir, 'copy.json'), JSON.stringify(mark));
    const told = await copy();
    expect(told.code).toBe(2);
    // Nothing has changed: it goes on.
    expect(await call('run'), pipeline).toMatchObject({ code: 0 });
    return told.stderr;
  };
  await rm(west.job.folder, { recursive: true });
  expect(await refused('west')).toMatch(/has runs of west already, .*STATE_COPY_PIPELINES/);
  expect(await refused('north', { reuse: { maxAge: '90d' } })).toMatch(/STATE_COPY_ANSWERS/);
});
