/** A database that goes away while a run only waits for its folios: the run says so once, and ends. */
import { expect, it } from 'vitest';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { openSite } from '../../helpers/postgres/machines.js';
import { usePostgres } from '../../helpers/postgres/postgres.js';
import { openSilentNetwork } from '../../helpers/postgres/silent-network.js';
import { spawnCli } from '../../helpers/processes/cli.js';
import { useServe } from '../../helpers/service/serve.js';
import { openUploadProxy } from '../../helpers/service/upload-proxy.js';

const folder = useSharedFolder();
const server = usePostgres();
/** Its folios are not done before the database is gone. */
const serve = useServe({ recordsPerSecond: 0.2 });

it('ends with the lease where the database gives no answer over an open connection', async () => {
  const setup = { parent: folder, server, baseUrl: serve.url, pipeline: 'silent', records: 60, chunks: 6 };
  const site = await openSite(setup);
  const { folder: cwd, args, env } = await site.machine('first');
  const network = await openSilentNetwork(site.database);
  const run = spawnCli(['run', ...args, '--json'], {
    cwd,
    env: { ...env, STATE_URL: network.database.url, FOLIOPIPE_LEASE_MS: '3000' },
  });
  await run.waitFor('stdout', /"submitted":6/);
  network.lose();
  const { code, stderr } = await run.ended;
  expect(stderr).toMatch(/gives no answer .*STATE_DATABASE_LOST/);
  expect(stderr.match(/WARN: .*gives no answer.*the run waits for it, and ends in \d/g)).toHaveLength(1);
  expect(code).toBe(5);
  await network.close();
}, 40_000);

it('waits longer than the lease to record what the service has said of an upload', async () => {
  const proxy = await openUploadProxy(serve.url);
  const setup = { parent: folder, server, baseUrl: proxy.url, pipeline: 'late', records: 60, chunks: 6 };
  const { database, machine } = await openSite(setup);
  const { folder: cwd, args, env } = await machine('first');
  const run = spawnCli(['run', ...args], { cwd, env: { ...env, FOLIOPIPE_LEASE_MS: '3000' } });
  await proxy.accepted(1);
  await server.kill();
  proxy.release();
  await run.waitFor('stderr', /WARN: .*chunk \d was accepted as folio \w+, which could not be recorded yet/);
  await server.start();
  const { code, stderr } = await run.ended;
  expect(stderr).toMatch(/STATE_DATABASE_LOST/);
  expect(code).toBe(5);
  const sent = await database.query("SELECT state FROM foliopipe.uploads WHERE state <> 'dropped'");
  expect(new Set(sent.map(({ state }) => state))).toEqual(new Set(['accepted']));
  await proxy.close();
});

it('ends with the lease, and says why', async () => {
  const setup = { parent: folder, server, baseUrl: serve.url, pipeline: 'lost', records: 60, chunks: 6 };
  const { folder: cwd, args, env } = await (await openSite(setup)).machine('first');
  const run = spawnCli(['run', ...args, '--json'], { cwd, env: { ...env, FOLIOPIPE_LEASE_MS: '3000' } });
  await run.waitFor('stdout', /"submitted":6/);
  await server.kill();
  const { code, stderr } = await run.ended;
  expect(stderr).toMatch(/STATE_DATABASE_LOST/);
  expect(stderr.match(/WARN: .*cannot be reached.*the run waits for it, and ends in \d/g)).toHaveLength(1);
  expect(code).toBe(5);
});
