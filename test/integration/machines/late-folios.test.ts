/**
 * A process that was paused between the reply to an upload and its record wakes up when another machine has given the
 * chunk up as ambiguous: the folio is recorded, and the next run fetches what it holds.
 */
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { endLeases, openSite } from '../../helpers/postgres/machines.js';
import { usePostgres } from '../../helpers/postgres/postgres.js';
import { spawnCli } from '../../helpers/processes/cli.js';
import { useServe } from '../../helpers/service/serve.js';

const records = 60;
const chunks = 6;
const folder = useSharedFolder();
const server = usePostgres();
const serve = useServe();

it('fetches a folio that was recorded after its chunk was given up', async () => {
  const settings = { ambiguous: { policy: 'hold' }, concurrency: { uploads: 1 } };
  const pipeline = 'late';
  const site = await openSite({
    parent: folder,
    server,
    baseUrl: serve.url,
    pipeline,
    records,
    chunks,
    settings,
  });
  const first = await site.machine('first');
  const second = await site.machine('second');
  // At its first upload: later, other stages may be within a transaction, which the server would end in a long pause.
  const env = { ...first.env, FOLIOPIPE_CRASH_AT: 'after-post-before-commit:1:pause' };
  const paused = spawnCli(['run', ...first.args], { cwd: first.folder, env });
  await expect
    .poll(async () => (await readFile(`/proc/${paused.pid}/stat`, 'utf8')).split(' ')[2], { timeout: 30_000 })
    .toBe('T');
  await endLeases(site);
  const held = await second.call('run');
  expect(held).toMatchObject({ code: 3 });
  const unprocessed = async () => (await readFile(site.output, 'utf8')).match(/AMBIGUOUS_HELD/g);
  expect(await unprocessed()).toHaveLength(records / chunks);

  paused.kill('SIGCONT');
  const lost = await paused.ended;
  expect(lost.code, lost.stderr).toBe(11);
  const [upload] = await site.database.query('SELECT state FROM foliopipe.uploads WHERE chunk = 1');
  expect(upload).toEqual({ state: 'accepted' });

  const ended = await second.call('run');
  expect(ended).toMatchObject({ code: 0 });
  expect(ended.stderr).toMatch(/of chunk 1, whose reply was recorded after the chunk was given up/);
  expect(await unprocessed()).toBeNull();
  expect(await serve.served(pipeline)).toHaveLength(chunks);
});
