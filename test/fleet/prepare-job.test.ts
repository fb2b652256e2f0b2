/** The job of a config holds the same config: what the database makes of a job must change no run. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load-config.js';
import { isRunJob } from '../../src/fleet/job.js';
import { prepareJob } from '../../src/fleet/prepare-job.js';
import { useFolder } from '../helpers/folders/folders.js';

const folder = useFolder();

const yaml = `
pipeline: nightly
source: { path: /data/source.csv }
upload: { columns: { zip: Zip, name: Name, address: Address, b: B, state: State } }
service: { baseUrl: https://p.example, token: "\${TOKEN}" }
output: { path: /out/e.parquet, types: { Zip: bigint, Name: date, Aa: double, Address: boolean } }
state: "\${STATE_URL}"
`;

/** As Postgres keeps JSON: keys are sorted by their length, then by their bytes. */
function asJsonb(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asJsonb);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, one]) => [key, asJsonb(one)] as const);
  return Object.fromEntries(
    entries.sort(([a], [b]) => a.length - b.length || Buffer.compare(Buffer.from(a), Buffer.from(b))),
  );
}

it('keeps the order of every map of the config', async () => {
  const env = { TOKEN: 'secret', STATE_URL: 'postgres://u:p@h/d' };
  const load = async (name: string, text: string) => {
    const file = join(await folder(), name);
    await writeFile(file, text);
    return { files: [file], env, overrides: [], cwd: '/typed' };
  };
  const byHand = await load('job.yaml', yaml);
  const kept = asJsonb((await prepareJob(byHand, {}, 'here')).job);
  if (!isRunJob(kept)) throw new Error('no job');
  const ofWorker = await load('worker.json', kept.config);
  const read = async (options: typeof byHand) => {
    const { ownFiles: _, ...config } = await loadConfig({ ...options, needs: 'nothing' });
    return JSON.stringify(config);
  };
  const worker = { ...ofWorker, env: { ...env, FOLIOPIPE_STATE: env.STATE_URL } };
  expect(await read(worker)).toBe(await read(byHand));
});

it('keeps the flags that were given for the commands that texts name, with absolute paths and no address', async () => {
  const file = join(await folder(), 'flags.yaml');
  await writeFile(file, yaml);
  const given = (key: string, value: string) => ({ key, value, baseDir: '/typed', origin: '--set' });
  const overrides = [
    given('source.path', 'in.csv'),
    given('chunks.maxRecords', '5'),
    given('service.token', `\${OTHER}`),
    given('state', 'postgres://me@h/d'),
  ];
  const { job } = await prepareJob(
    { files: [file], env: { OTHER: 'x' }, overrides, cwd: '/typed' },
    {},
    'here',
  );
  const settings = ['source.path=/typed/in.csv', 'chunks.maxRecords=5', `service.token=\${OTHER}`];
  expect(job.from).toEqual({ host: 'here', files: [file], settings: [...settings, `state=\${STATE_URL}`] });
});

it('refuses standard input, which no worker has, and names no flags where none were given', async () => {
  const file = join(await folder(), 'piped.yaml');
  await writeFile(file, yaml);
  // The token is needed by the worker alone.
  const env = { STATE_URL: 'postgres://u:p@h/d' };
  const options = { files: [file], env, overrides: [], cwd: '/typed' };
  expect((await prepareJob(options, {}, 'here')).job.from).toEqual({ host: 'here', files: [file] });
  await writeFile(file, yaml.replace('/data/source.csv', '"-"'));
  await expect(prepareJob(options, {}, 'here')).rejects.toMatchObject({ code: 'FLEET_STDIN', exitCode: 2 });
});
