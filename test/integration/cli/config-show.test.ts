/** `foliopipe config show` says what each key is and where that comes from, and shows no secret. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openFakeService } from '../../fake-service/fake-service.js';
import { withFolder } from '../../helpers/folders/folders.js';
import { createJob } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines } from '../../helpers/processes/cli.js';

const config = `pipeline: nightly
source: { path: data/*.csv }
upload: { columns: { name: A, state: B } }
service:
  baseUrl: https://predictions.example.com
  token: \${FOLIOPIPE_TOKEN}
chunks: { maxRecords: 500 }
load: { into: "postgres://me:pass-4711@db/w?password=other-4711", table: t, mode: append }
output: { path: out.csv }
`;

it('tells defaults, files with lines, variables and flags apart', async () => {
  await withFolder(async (cwd) => {
    await writeFile(join(cwd, 'foliopipe.yaml'), config);
    const env = { FOLIOPIPE_TOKEN: 'tok-4711', FOLIOPIPE_CHUNKS__MAX_BYTES: '1MB' };
    const args = ['config', 'show', '--set', 'upload.columns.address=C', '--set', 'poll.first=2s'];
    const { stdout, code } = await callMain([...args, '--json'], { cwd, env });
    expect(code).toBe(0);
    const keys = new Map(jsonLines(stdout).map((line) => [line.key as string, [line.value, line.origin]]));
    expect(Object.fromEntries(keys)).toMatchObject({
      pipeline: ['nightly', 'foliopipe.yaml:1'],
      'source.path': [join(cwd, 'data/*.csv'), 'foliopipe.yaml:2'],
      'upload.columns': [{ name: 'A', state: 'B', address: 'C' }, 'foliopipe.yaml:3, --set'],
      'service.token': ['[secret]', 'foliopipe.yaml:6'],
      'chunks.maxRecords': [500, 'foliopipe.yaml:7'],
      'chunks.maxBytes': ['1MB', 'FOLIOPIPE_CHUNKS__MAX_BYTES'],
      'poll.first': ['2s', '--set'],
      'poll.max': ['5m', null],
      'load.into': ['postgres://db/w', 'foliopipe.yaml:8'],
      'load.onSchema': ['fail', null],
      'source.query.sql': [null, null],
    });
    const text = await callMain([...args, '--origins'], { cwd, env });
    expect(text.stdout).toMatch(/^poll\.max +5m +default$/m);
    expect(text.stdout).toMatch(/^chunks\.maxRecords +500 +foliopipe\.yaml:7$/m);
    expect(stdout + text.stdout).not.toContain('4711');
  });
});

it('names each variable that is not set, and refuses a config as every command does', async () => {
  await withFolder(async (cwd) => {
    await writeFile(join(cwd, 'foliopipe.yaml'), config);
    const unset = ['--set', `report.webhook=\${HOOK}`, '--set', `load.into=\${WAREHOUSE}`];
    const { stdout, code } = await callMain(['config', 'show', ...unset], { cwd });
    expect(stdout).toMatch(/^report\.webhook +\[the variable HOOK is not set\]$/m);
    expect(stdout).toMatch(/^load\.into +\[the variable WAREHOUSE is not set\]$/m);
    expect(stdout).toMatch(/^service\.token +\[the variable FOLIOPIPE_TOKEN is not set\]$/m);
    expect(code).toBe(0);
    const wrong = await callMain(['config', 'show', '--set', 'chunks.maxRecord=5'], { cwd });
    expect(wrong.stderr).toContain('did you mean maxRecords?');
    expect(wrong.code).toBe(2);
  });
});

it('says which values an unfinished run has frozen, and what they are there', async () => {
  const service = await openFakeService({
    trouble: ({ operation, nth }) =>
      operation === 'upload' && nth > 1 ? { kind: 'answer', status: 402 } : undefined,
  });
  await withFolder(async (folder) => {
    const job = await createJob(folder, { baseUrl: service.url, settings: { output: { lineage: true } } });
    const env = { FOLIOPIPE_TOKEN: service.token };
    const show = (...args: string[]) => callMain(['config', 'show', '-c', job.config, ...args], { env });
    expect((await show('--origins')).stdout).not.toContain('frozen');
    expect((await callMain(['run', job.config], { env })).code).toBe(7);
    const { stdout } = await show('--origins', '--set', 'chunks.maxRecords=20');
    expect(stdout).toMatch(/^chunks\.maxRecords +20 +--set, frozen by run \d{8}T\S+ with 10$/m);
    expect(stdout).toMatch(/^output\.lineage +true +\S*job\.yaml:\d+, frozen by run \d{8}T\S+$/m);
    expect(stdout).toMatch(/^service\.baseUrl .*, frozen by run \d{8}T\S+$/m);
    expect(stdout).toMatch(/^poll\.max +\S+ +(?:default|\S*job\.yaml:\d+)$/m);
    const keys = jsonLines((await show('--json')).stdout);
    expect(keys.find(({ key }) => key === 'chunks.maxRecords')).toMatchObject({
      frozenBy: expect.stringMatching(/^\d{8}T/),
    });
    expect(keys.find(({ key }) => key === 'poll.max')).toMatchObject({ frozenBy: null });
  });
  await service.close();
});
