/**
 * A state in Postgres: what one machine has paid for, another one goes on with and publishes. A machine is a folder of
 * its own, and is killed for good: its folder is removed. Source and output are where both see them.
 */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { enrich, loadConfig } from '../../../pipelines/index.js';
import type { Failpoint } from '../../../src/failpoints.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, enrichJob, filesHolding, sourceText } from '../../helpers/jobs/cli-job.js';
import { endLeases, loseMachine, openSite } from '../../helpers/postgres/machines.js';
import { usePostgres } from '../../helpers/postgres/postgres.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines, spawnCli } from '../../helpers/processes/cli.js';
import { useServe } from '../../helpers/service/serve.js';

const records = 60;
const chunks = 6;
const folder = useSharedFolder();
const server = usePostgres();
const serve = useServe({ segmentRecords: 7 });
let unbroken: Buffer;

beforeAll(async () => {
  const job = await createJob(await folder(), { pipeline: 'unbroken', baseUrl: serve.url, records });
  expect(await enrichJob(job)).toMatchObject({ exitCode: 0 });
  unbroken = await readFile(job.output);
});

const createSite = (
  pipeline: string,
  files: 'postgres' | 'folder' = 'postgres',
  settings: Readonly<Record<string, object>> = {},
) => openSite({ parent: folder, server, baseUrl: serve.url, pipeline, files, records, chunks, settings });

/** The uploads that the service has accepted for a pipeline. */
const uploadsOf = async (pipeline: string) => (await serve.served(`${pipeline}-`)).length;

const kills: readonly { readonly point: Failpoint; readonly nth: number; readonly isAmbiguous: boolean }[] = [
  { point: 'after-post-before-commit', nth: 3, isAmbiguous: true },
  { point: 'after-part-before-downloaded', nth: 4, isAmbiguous: false },
  { point: 'after-publishing-before-rename', nth: 1, isAmbiguous: false },
];

it.each(kills)('goes on elsewhere after a kill $point', async ({ point, nth, isAmbiguous }) => {
  const site = await createSite(`kill-${nth}-${point}`);
  const first = await site.machine('first');
  const killed = await first.killed(`${point}:${nth}`, 'run');
  await loseMachine(site, first);

  const second = await site.machine('second');
  const ended = await callMain(['run', ...second.args, '--json'], { cwd: second.folder, env: second.env });
  expect(ended).toMatchObject({ code: 0 });
  const { uploads } = jsonLines(ended.stdout).at(-1) as { uploads: { ambiguous: number } };
  expect((await readFile(site.output)).equals(unbroken)).toBe(true);
  // An upload in flight may have been paid for; it is told. Nothing else is sent twice.
  if (isAmbiguous) expect(uploads.ambiguous).toBeGreaterThan(0);
  const accepted = await uploadsOf(site.pipeline);
  expect(accepted).toBeGreaterThanOrEqual(chunks);
  expect(accepted).toBeLessThanOrEqual(chunks + uploads.ambiguous);
  // Addresses are secret.
  const { password } = new URL(site.database.url);
  expect(`${killed.stderr}${killed.stdout}${ended.stderr}${ended.stdout}`).not.toContain(password);
  expect(await filesHolding(second.folder, password)).toEqual([]);
});

it('publishes elsewhere what was bought with parts in a shared folder, and commands tell of it', async () => {
  const site = await createSite('shared', 'folder');
  const first = await site.machine('first');
  const bought = await callMain(['run', ...first.args], { cwd: first.folder, env: first.env });
  expect(bought.code).toBe(0);
  await rm(first.folder, { recursive: true });
  await rm(site.output);
  await serve.stop();
  try {
    const { folder: cwd, args, env } = await site.machine('second');
    const call = (...words: string[]) => callMain([...words, ...args], { cwd, env });
    expect(await call('publish', 'last')).toMatchObject({ code: 0 });
    expect((await readFile(site.output)).equals(unbroken)).toBe(true);
    for (const words of [
      ['status'],
      ['runs'],
      ['runs', 'show', 'last'],
      ['ledger'],
      ['plan'],
      ['reuse', 'show'],
    ]) {
      const told = await call(...words);
      expect(told, words.join(' ')).toMatchObject({ code: 0 });
      expect(`${told.stdout}${told.stderr}`).not.toContain(site.database.url);
    }
    expect((await call('config', 'show')).stdout).toContain(site.database.place);
    expect((await call('recover')).stderr).toMatch(
      /STATE_IN_DATABASE.*into a new folder: foliopipe state copy -c \S+ --to FOLDER\n/s,
    );
    expect((await call('state', 'backup', 'copy')).stderr).toMatch(/STATE_IN_DATABASE/);
  } finally {
    await serve.start();
  }
});

it('stops a process that was paused for longer than its lease', async () => {
  const site = await createSite('paused');
  const first = await site.machine('first');
  const second = await site.machine('second');
  const env = { ...first.env, FOLIOPIPE_CRASH_AT: 'after-part-before-downloaded:2:pause' };
  const paused = spawnCli(['run', ...first.args], { cwd: first.folder, env });
  await expect.poll(async () => (await readFile(`/proc/${paused.pid}/stat`, 'utf8')).split(' ')[2]).toBe('T');
  await endLeases(site);
  const ended = await callMain(['run', ...second.args, '--json'], { cwd: second.folder, env: second.env });
  expect(ended).toMatchObject({ code: 0 });
  const { uploads } = jsonLines(ended.stdout).at(-1) as { uploads: { ambiguous: number } };
  const rows = () => site.database.query('SELECT * FROM foliopipe.chunks ORDER BY number');
  const before = await rows();
  paused.kill('SIGCONT');
  const { code, stderr } = await paused.ended;
  expect(stderr).toMatch(/LEASE_LOST/);
  expect(code).toBe(11);
  expect(await rows()).toEqual(before);
  expect((await readFile(site.output)).equals(unbroken)).toBe(true);
  const accepted = await uploadsOf(site.pipeline);
  expect(accepted).toBeGreaterThanOrEqual(chunks);
  // The stop may have come while an upload was in flight; it is told.
  expect(accepted).toBeLessThanOrEqual(chunks + uploads.ambiguous);
});

it('says what is wrong with the database, without its password', async () => {
  const { machine, database } = await createSite('wrong');
  const { folder: cwd, args, env } = await machine('first');
  const wrong = (change: (url: URL) => void) => {
    const url = new URL(database.url);
    change(url);
    return callMain(['run', ...args], { cwd, env: { ...env, STATE_URL: url.href } });
  };
  const refused = await wrong((url) => {
    url.password = 'not-the-one';
  });
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('STATE_DATABASE_REFUSED') });
  expect(refused.stderr).not.toContain('not-the-one');
  const missing = await wrong((url) => {
    url.pathname = '/nowhere';
  });
  expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('STATE_DATABASE_MISSING') });
  const lost = await wrong((url) => {
    url.port = '1';
  });
  expect(lost).toMatchObject({ code: 5, stderr: expect.stringContaining('STATE_DATABASE_LOST') });
  const status = await callMain(['status', ...args], { cwd, env });
  expect(status).toMatchObject({ code: 2, stderr: expect.stringContaining('STATE_MISSING') });
  const check = await callMain(['check', ...args], { cwd, env });
  expect(check).toMatchObject({ code: 0, stdout: expect.stringContaining('the first run makes its tables') });
  const checked = (url: string) =>
    callMain(['check', ...args, '--json'], { cwd, env: { ...env, STATE_URL: url } });
  await database.query(`REVOKE CREATE ON DATABASE ${new URL(database.url).pathname.slice(1)} FROM public`);
  expect((await checked(await database.role('weak', 'weak-secret'))).stdout).toMatch(/STATE_DATABASE_DENIED/);
  const readOnly = await checked(`${database.url}?options=-c%20default_transaction_read_only%3Don`);
  expect(readOnly.stdout).toMatch(/STATE_DATABASE_READ_ONLY/);
});

/** A role that looks at a run which was submitted. */
async function createVisitor(role: string) {
  const { database, machine } = await createSite(role);
  const { args, folder: cwd, env, call } = await machine('first');
  expect(await call('submit')).toMatchObject({ code: 0 });
  const url = await database.role(role, `${role}-secret`);
  return {
    database,
    look: (command: string, ...flags: string[]) =>
      callMain([command, ...args, ...flags], { cwd, env: { ...env, STATE_URL: url } }),
    /** An open connection would keep the process from ending. */
    expectGone: async () => {
      const open = `SELECT 1 FROM pg_stat_activity WHERE usename = '${role}'`;
      await expect.poll(async () => (await database.query(open)).length).toBe(0);
    },
  };
}

it('ends where the database has one connection left, and reads the runs over it', async () => {
  const { database, look, expectGone } = await createVisitor('narrow');
  await database.query('GRANT pg_read_all_data TO narrow; ALTER ROLE narrow CONNECTION LIMIT 1');
  expect(await look('runs')).toMatchObject({ code: 0 });
  const status = await look('status');
  expect(status).toMatchObject({ code: 5, stderr: expect.stringContaining('STATE_DATABASE_FULL') });
  await expectGone();
});

it('ends a watch by a role that may not see the runs', async () => {
  const { database, look, expectGone } = await createVisitor('blind');
  await database.query('GRANT USAGE ON SCHEMA foliopipe TO blind');
  await database.query(
    'GRANT SELECT ON ALL TABLES IN SCHEMA foliopipe TO blind; REVOKE SELECT ON foliopipe.runs FROM blind',
  );
  const status = await look('status', '--watch');
  expect(status).toMatchObject({ code: 2, stderr: expect.stringContaining('STATE_DATABASE_DENIED') });
  await expectGone();
});

it('does not take answers for lost whose folder is not mounted', async () => {
  const site = await createSite('unmounted', 'folder', { reuse: { maxAge: '9d' } });
  const first = await site.machine('first');
  expect(await first.call('run')).toMatchObject({ code: 0 });
  await rm(first.folder, { recursive: true });
  const parts = join(dirname(site.source), 'parts');
  await rename(parts, `${parts}-elsewhere`);
  await mkdir(parts);
  await writeFile(site.source, sourceText(61));
  const second = await site.machine('second');
  const told = await second.call('run');
  expect(told).toMatchObject({ code: 2, stderr: expect.stringContaining('FILES_FOLDER_MISSING') });
  expect(told.stderr).toContain(`${parts}/shared`);
  await rm(parts, { recursive: true });
  await rename(`${parts}-elsewhere`, parts);
  expect(await second.call('run')).toMatchObject({ code: 0 });
  // One record is new.
  expect(await uploadsOf(site.pipeline)).toBe(chunks + 1);
});

it('waits for a database that is killed and started again in the middle of a run', async () => {
  const site = await createSite('restarted');
  const { folder: cwd, args, env } = await site.machine('first');
  const config = await loadConfig({ files: [args[1]!], env, overrides: [], cwd });
  let restarted: Promise<void> | undefined;
  const restart = async () => {
    await server.kill();
    await server.start();
  };
  const run = () =>
    enrich(config, {
      at: (point) => {
        if (point === 'after-part-before-downloaded') restarted ??= restart();
      },
    });
  // A change whose end is not known ends the run; the same command goes on.
  const first = await run().catch((error: unknown) => error);
  await restarted;
  if (first instanceof Error) {
    expect(first).toMatchObject({ code: 'STATE_DATABASE_LOST', exitCode: 5 });
    await endLeases(site);
  }
  const { uploads } = await run();
  expect((await readFile(site.output)).equals(unbroken)).toBe(true);
  const accepted = await uploadsOf(site.pipeline);
  expect(accepted).toBeGreaterThanOrEqual(chunks);
  expect(accepted).toBeLessThanOrEqual(chunks + uploads.ambiguous);
});
