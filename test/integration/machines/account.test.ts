/** Two pipelines that share an account, each in a process of its own: one is killed, and its permits come back. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it, vi } from 'vitest';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { sourceText } from '../../helpers/jobs/cli-job.js';
import { cliSections } from '../../helpers/jobs/job-sections.js';
import { type Database, usePostgres } from '../../helpers/postgres/postgres.js';
import { callMain, expectError } from '../../helpers/processes/call-main.js';
import { jsonLines, killCliAt, spawnCli } from '../../helpers/processes/cli.js';
import { serveToken, useServe } from '../../helpers/service/serve.js';

const folder = useSharedFolder();
const server = usePostgres();
let database: Database;
const serve = useServe();

beforeAll(async () => {
  database = await server.createDatabase();
});

async function createPipeline(pipeline: string, changes: object = {}) {
  const cwd = join(await folder(), pipeline);
  await mkdir(cwd, { recursive: true });
  await writeFile(join(cwd, 'source.csv'), sourceText(40));
  const config = {
    pipeline,
    ...cliSections(serve.url, {
      service: { name: 'predictions', legacyBaseUrl: serve.url, requestsPerSecond: 200 },
      concurrency: { folios: 2, uploads: 1 },
    }),
    state: `\${STATE_URL}`,
    ...changes,
  };
  await writeFile(join(cwd, 'job.yaml'), JSON.stringify(config));
  const env: Record<string, string> = { FOLIOPIPE_TOKEN: serveToken, STATE_URL: database.url };
  return { cwd, env, args: ['-c', join(cwd, 'job.yaml')] };
}

it('holds back a pipeline while the folios of a killed one are open, and lets it go on when they are fetched', async () => {
  const [killed, other] = [await createPipeline('killed'), await createPipeline('other')];
  await killCliAt('after-accepted-before-poll:2', ['run', ...killed.args], killed);
  const status = async (...flags: string[]) => callMain(['status', ...killed.args, ...flags], killed);
  expect((await status()).stdout).toMatch(
    /\n {2}working {3}process \d+ on \S+ \(run .*\) has been working on the pipeline for .+; lease ends in [\d.]+m?s unless renewed\n/,
  );
  expect((await status()).stdout).toMatch(
    /\n {2}state {5}postgres:\/\/127\.0\.0\.1:\d+\/\w+, set by \S+job\.yaml:1\n/,
  );
  const { STATE_URL, ...others } = killed.env as Record<string, string>;
  const byVariable = await callMain(['status', ...killed.args, '--json'], {
    ...killed,
    env: { ...others, STATE_URL: 'postgres://127.0.0.1:1/none', FOLIOPIPE_STATE: STATE_URL! },
  });
  expect(jsonLines(byVariable.stdout).at(-1)).toMatchObject({ database: { setBy: 'FOLIOPIPE_STATE' } });
  const account = async () =>
    (jsonLines((await status('--json')).stdout).at(-1) as { account: unknown }).account;

  // A watch keeps its connection.
  const watching = spawnCli(['status', ...killed.args, '--watch', '--json'], killed);
  await watching.waitFor('stdout', /"type":"progress"/);
  const connected = () =>
    database.query(
      `select pid from pg_stat_activity
       where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
  // The first commands' connections may still be on their way out.
  await expect.poll(connected).toHaveLength(1);
  const seen = new Set<unknown>();
  for (const until = performance.now() + 1_600; performance.now() < until; ) {
    for (const { pid } of await connected()) seen.add(pid);
  }
  expect(seen.size).toBe(1);
  watching.kill('SIGINT');
  await watching.ended;

  await database.query("UPDATE foliopipe.leases SET until = now() - interval '1 second'");
  const { open } = (await account()) as { open: number };
  expect(open).toBeGreaterThan(0);
  const waiting = spawnCli(['run', ...other.args], other);
  // If both of its folios are open, nobody else may open one.
  if (open === 2) {
    await expect.poll(account, { timeout: 30_000 }).toMatchObject({ service: 'predictions', waiting: 1 });
    const told = (await status()).stdout;
    expect(told).toMatch(
      /2 of 2 folios open \(killed 2 without a process\), 200 requests a second, 1 pipeline waits/,
    );
    expect(told).toMatch(/no process works on killed: .*foliopipe collect/);
  }
  expect(await callMain(['run', ...killed.args], killed)).toMatchObject({ code: 0 });
  expect(await waiting.ended).toMatchObject({ code: 0 });
  expect(await account()).toMatchObject({ open: 0, waiting: 0, pipelines: [] });
  expect((await callMain(['check', ...killed.args], killed)).stdout).toContain(
    'all its pipelines that use predictions share the limits: 0 folios open',
  );
  // A search asks when the account allows it.
  await database.query(
    "UPDATE foliopipe.accounts SET paused_until = clock_timestamp() + interval '1 second'",
  );
  const asked = performance.now();
  const search = ['search', '--name', 'Harbor Hardware'];
  expect(await callMain([...search, ...other.args], other)).toMatchObject({ code: 0 });
  expect(performance.now() - asked).toBeGreaterThan(900);
});

it('counts a budget by the days of the database, whatever the clock of a machine shows', async () => {
  const budget = { perDay: 60, perMonth: 60 };
  const changes = {
    service: { name: 'of-one-day', baseUrl: serve.url, token: `\${FOLIOPIPE_TOKEN}` },
    budget,
  };
  const [right, ahead] = [await createPipeline('right', changes), await createPipeline('ahead', changes)];
  expect(await callMain(['run', ...right.args], right)).toMatchObject({ code: 0 });
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 40 * 86_400_000 });
  try {
    const refused = await callMain(['run', ...ahead.args], ahead);
    expectError(refused, 9, /budget\.per(?:Day|Month) is 60 records: 60 are spent.*BUDGET_REACHED/);
  } finally {
    vi.useRealTimers();
  }
});
