/** `serve` with `--faults` and `--time-scale`, in a process of its own. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { useFolder } from '../../helpers/folders/folders.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { spawnCli } from '../../helpers/processes/cli.js';

const folder = useFolder();
const flags = ['serve', '--port', '0', '--predictor', 'hash', '--token', 'demo'];

it('applies the faults of the file, in scaled time', async () => {
  const faults = join(await folder(), 'faults.yaml');
  await writeFile(faults, 'rules:\n  - on: search\n    fault: { status: 429, retryAfter: 10m }\n');
  const data = join(await folder(), 'data');
  const serve = spawnCli([...flags, '--data', data, '--faults', faults, '--time-scale', '60']);
  const [, url = ''] = await serve.waitFor('stdout', /^listening on (\S+)\n/);
  const reply = await fetch(`${url}/naics/naics/search/additional/`, { method: 'POST' });
  expect([reply.status, reply.headers.get('retry-after')]).toEqual([429, '10']);
  serve.kill('SIGTERM');
  const { code, stderr } = await serve.ended;
  expect(code).toBe(0);
  expect(stderr).toContain('faults hit search 1: status, retryAfter');
});

it('names folio and file of what is finished, as a console would', async () => {
  const serve = spawnCli([...flags, '--data', join(await folder(), 'data')]);
  const [, url = ''] = await serve.waitFor('stdout', /^listening on (\S+)\n/);
  const form = new FormData();
  form.set('description', 'one');
  form.set('token', 'demo');
  form.set('file', new Blob(['name\nBakery\n']), 'nightly-R-2-1-ab.csv');
  const reply = await fetch(`${url}/naics/naics/external/upload`, { method: 'POST', body: form });
  expect(reply.status).toBe(200);
  const [, folio] = await serve.waitFor(
    'stderr',
    /folio (\w+) is finished: nightly-R-2-1-ab\.csv, 1 successful/,
  );
  expect(await reply.text()).toContain(folio);
  serve.kill('SIGTERM');
  expect((await serve.ended).code).toBe(0);
});

it('refuses invalid rules before it opens anything', async () => {
  const faults = join(await folder(), 'faults.yaml');
  await writeFile(faults, 'rules:\n  - on: search\n    fault: { stal: 10m }\n');
  const { code, stdout, stderr } = await callMain([...flags, '--faults', faults], { cwd: await folder() });
  expect(code).toBe(2);
  expect(stdout).toBe('');
  expect(stderr).toContain('unknown key "stal", did you mean stall?');
});
