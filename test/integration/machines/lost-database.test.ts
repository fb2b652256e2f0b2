/** A database that goes away while a run only waits for its folios: the run says so once, and ends. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { openSite } from '../../helpers/postgres/machines.js';
import { type OwnPostgresServer, openOwnPostgres } from '../../helpers/postgres/postgres.js';
import { spawnCli } from '../../helpers/processes/cli.js';
import { openServe, type Serve } from '../../helpers/service/serve.js';

const folder = useSharedFolder();
let server: OwnPostgresServer;
let serve: Serve;

beforeAll(async () => {
  // Its folios are not done before the database is gone.
  serve = await openServe(join(await folder(), 'service'), { recordsPerSecond: 0.2 });
  server = await openOwnPostgres();
}, 60_000);

afterAll(async () => {
  await serve.stop();
  await server.close();
});

it('ends with the lease, and says why', async () => {
  const setup = { parent: folder, server, baseUrl: serve.url, pipeline: 'lost', records: 60, chunks: 6 };
  const { folder: cwd, args, env } = await (await openSite(setup)).machine('first');
  const run = spawnCli(['run', ...args, '--json'], { cwd, env: { ...env, FOLIOPIPE_LEASE_MS: '3000' } });
  await run.waitFor('stdout', /"submitted":6/);
  await server.kill();
  const { code, stderr } = await run.ended;
  expect(stderr).toMatch(/STATE_DATABASE_LOST/);
  expect(stderr.match(/WARN: .*cannot be reached.*the run ends in \d/g)).toHaveLength(1);
  expect(code).toBe(5);
}, 60_000);
