/** examples/fleet: objects, flags and times fit the program. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Deployment } from 'kubernetes-models/apps/v1';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { createProgram } from '../src/cli/program.js';
import { loadConfig } from '../src/config/load-config.js';
import { PG_BOSS } from '../src/fleet/pg-boss.js';
import { parseDuration } from '../src/quantities.js';

const folder = join(import.meta.dirname, '../examples/fleet');
const read = (name: string) => readFile(join(folder, name), 'utf8');

async function expectFlags(args: readonly string[]): Promise<void> {
  const program = await createProgram(['node', 'foliopipe', ...args], () => undefined);
  const command = program.commands.find((one) => one.name() === args[0])!;
  const words = args.filter((word) => word.startsWith('--'));
  expect(words.length).toBeGreaterThan(0);
  expect(words.filter((word) => !command.options.some(({ long }) => long === word))).toEqual([]);
}

it('loads the pipeline, whose stop takes less time than is given', async () => {
  const env = { FOLIOPIPE_STATE: 'postgres://h/d', FOLIOPIPE_TOKEN: 't' };
  const config = await loadConfig({ files: [join(folder, 'nightly.yaml')], env, overrides: [], cwd: folder });
  expect(config).toMatchObject({ pipeline: 'nightly', schedule: '15 1 * * *', timeZone: 'Europe/Zurich' });
  const pod = parse(await read('deployment.yaml')).spec.template.spec;
  const { worker } = parse(await read('compose.yaml')).services;
  const patience = [pod.terminationGracePeriodSeconds * 1000, parseDuration(worker.stop_grace_period)!];
  expect(Math.min(...patience)).toBeGreaterThan(config.timeouts.shutdown + 30_000);
});

it('is a Deployment as the schemas of Kubernetes say, and both start workers with flags that there are', async () => {
  const deployment = parse(await read('deployment.yaml'));
  expect(new Deployment(deployment).validate()).toBe(undefined);
  const [container] = deployment.spec.template.spec.containers;
  await expectFlags(container.args);
  await expectFlags(parse(await read('compose.yaml')).services.worker.command);
  expect(container.ports[0].containerPort).toBe(Number(container.args[container.args.indexOf('--port') + 1]));
});

it('installs the version of pg-boss that is needed, and names each file', async () => {
  expect(await read('Dockerfile')).toContain(`pg-boss@${PG_BOSS.version}`);
  const named = [...(await read('README.md')).matchAll(/^\| `([\w.]+)` \|/gm)].map(([, name]) => name!);
  expect([...named, 'README.md'].sort()).toEqual((await readdir(folder)).sort());
});
