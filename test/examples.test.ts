/** examples/: their configs are read and planned, and what they do at each exit code is what README.md says. */
import { execFile, execFileSync } from 'node:child_process';
import { chmod, cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { loadConfig } from '../src/config/load-config.js';
import { exitActions } from './helpers/examples/exit-codes.js';
import { useSharedFolder } from './helpers/folders/folders.js';
import { callMain } from './helpers/processes/call-main.js';

const root = resolve(import.meta.dirname, '..');
const examples = ['airflow', 'bigquery', 'dagster', 'dbt', 'snowflake'];
const read = (file: string) => readFile(join(root, file), 'utf8');

const newFolder = useSharedFolder();
let folder: string;
beforeAll(async () => {
  folder = await newFolder();
});

it('there is a folder for each example, and docs/warehouse.md links to it', async () => {
  expect(await readdir(join(root, 'examples'))).toEqual(expect.arrayContaining(examples));
  const page = await read('docs/warehouse.md');
  expect(examples.filter((name) => !page.includes(`(../examples/${name}/README.md)`))).toEqual([]);
});

describe.each(examples)('examples/%s', (name) => {
  it('has a config that foliopipe plans with, and no secret', async () => {
    const source = join(folder, 'businesses.csv');
    const env = {
      FOLIOPIPE_SOURCE: source,
      FOLIOPIPE_HOME: folder,
      FOLIOPIPE_BASE_URL: 'https://predictions.example.com',
      FOLIOPIPE_TOKEN: 't0ken',
      FOLIOPIPE_DATABASE: 'postgres://etl:pa55@localhost/analytics',
    };
    const file = join(root, 'examples', name, 'foliopipe.yaml');
    const config = await loadConfig({ files: [file], env, overrides: [], cwd: root });
    expect(config.load?.mode).toBe('merge');
    expect(await readFile(file, 'utf8')).not.toMatch(/token: (?!\$\{)|into: (?!\$\{|none)/);
    const columns = [...config.source.key!, ...Object.values(config.upload.columns)];
    await writeFile(source, `${columns.join(',')}\n${columns.join(',')}\n`);
    await cp(file, join(folder, 'foliopipe.yaml'));
    const { code, stdout } = await callMain(['plan', '--json'], { cwd: folder, env });
    expect(code, stdout).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ pipeline: 'businesses', source: { records: 1 } });
  });

  it('has a README that says what was checked and what was not', async () => {
    const page = await read(`examples/${name}/README.md`);
    const checked = page.slice(page.indexOf('\n## What was checked\n'));
    expect(checked).toContain('Not checked:');
    const files = [...page.matchAll(/^\| `([\w./-]+)` \|/gm)].map(([, path]) => path!);
    const there = await readdir(join(root, 'examples', name), { recursive: true });
    expect(files.filter((path) => !there.includes(path))).toEqual([]);
  });
});

it('the YAML of dbt is YAML', async () => {
  for (const path of await readdir(join(root, 'examples/dbt'), { recursive: true })) {
    if (path.endsWith('.yml'))
      expect(parseYaml(await read(`examples/dbt/${path}`)), path).toBeTypeOf('object');
  }
});

const hasPython = (() => {
  try {
    execFileSync('python3', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

const summary = {
  type: 'summary',
  run: '20261122T010000-1fbd39',
  publication: 7,
  counts: { read: 3, successful: 3, failed: 0, unprocessed: 0, rejected: 0 },
  origins: { sent: { records: 1 }, reused: { records: 2 } },
  output: { records: 3, sha256: 'b0ef' },
  load: { state: 'loaded', written: 1, removed: 0 },
  manifest: '/srv/out/enriched.csv.manifest.json',
};
const failure = {
  type: 'summary',
  error: { code: 'SOME_CODE', message: 'what happened', hint: 'what to type' },
};

/** Runs a Python file of an example through a stand-in for its scheduler, with a stand-in for npx. */
async function tryExample(standIn: string, file: string, codes: readonly number[]) {
  const npx = `#!/bin/sh
[ "$*" = "--no-install foliopipe run foliopipe.yaml --json --max-duration 5h --wait-lock 30m" ] || exit 99
echo "$FOLIOPIPE_TOKEN $FOLIOPIPE_DATABASE" >> '${folder}/secrets.txt'
echo 'a line of the log' >&2
[ "$CODE" != -9 ] || kill -9 $$
echo '{"type":"progress"}'
if [ "$CODE" = 0 ]; then echo '${JSON.stringify(summary)}'; else echo '${JSON.stringify(failure)}'; fi
exit "$CODE"
`;
  await writeFile(join(folder, 'npx'), npx);
  await chmod(join(folder, 'npx'), 0o755);
  await writeFile(join(folder, 'secrets.txt'), '');
  const { stdout } = await promisify(execFile)(
    'python3',
    ['-B', join(root, 'test/helpers/examples/python', standIn), join(root, file), ...codes.map(String)],
    { env: { ...process.env, PATH: `${folder}:${process.env.PATH}`, FOLIOPIPE_HOME: folder } },
  );
  const outcomes = JSON.parse(stdout) as Record<string, [string, unknown]>;
  return { outcomes, secrets: await readFile(join(folder, 'secrets.txt'), 'utf8') };
}

describe.each([
  [
    'examples/airflow/dags/foliopipe_nightly.py',
    'try-airflow.py',
    'AirflowException',
    'AirflowFailException',
  ],
  ['examples/dagster/definitions.py', 'try-dagster.py', 'RetryRequested', 'Failure'],
])('%s', (file, standIn, retried, failed) => {
  it('knows every exit code and does what the table of README.md says', async () => {
    const text = await read(file);
    const known = [...text.matchAll(/^ {4}(\d+): \((\w+), /gm)].map(([, code, action]) => [
      Number(code),
      action,
    ]);
    const expected = [...(await exitActions())];
    expect(known).toEqual(expected);
    expect(known).toHaveLength(14);
  });

  it.skipIf(!hasPython)('returns, retries or fails by the exit code', async () => {
    const codes = [...(await exitActions()).keys()];
    const { outcomes, secrets } = await tryExample(standIn, file, [...codes, 77, -9]);
    for (const [code, action] of await exitActions()) {
      const name = { GO_ON: 'returns', RETRY: retried, FAIL: failed }[action];
      expect(outcomes[code]?.[0], `exit ${code}`).toBe(name);
    }
    expect(outcomes[77]![0]).toBe(failed);
    expect(outcomes[-9]![0]).toBe(retried);
    expect(outcomes[4]![1]).toMatch(/^foliopipe ended with exit 4: .*; what happened; what to type$/);
    expect(JSON.stringify(outcomes[0])).toContain('"publication": 7'.replace(' ', ''));
    if (standIn === 'try-airflow.py') {
      expect(new Set(secrets.trim().split('\n'))).toEqual(
        new Set(['s3cret postgres://etl:pa55@localhost/analytics']),
      );
      expect(JSON.stringify(outcomes)).not.toMatch(/s3cret|pa55/);
    }
  });
});
