import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { configForJob } from '../../src/config/job-config.js';
import { useFolder } from '../helpers/folders/folders.js';

const folder = useFolder();

async function jobOf(yaml: string, env: Record<string, string> = {}, overrides: [string, string][] = []) {
  const file = join(await folder(), 'job.yaml');
  await writeFile(file, yaml);
  return configForJob({
    files: [file],
    env: { FOLIOPIPE_TOKEN: 'tok-secret', ...env },
    overrides: overrides.map(([key, value]) => ({ key, value, baseDir: '/typed', origin: '--set' })),
    cwd: '/typed',
  });
}

it('keeps variables as they are written, and no value of a secret', async () => {
  const job = await jobOf(
    [
      'pipeline: nightly',
      `service: { baseUrl: "\${BASE}", token: "\${FOLIOPIPE_TOKEN}" }`,
      `load: { into: "\${DATABASE_URL}", table: t, mode: append }`,
      'state: postgres://u:in-the-file@h/d',
      'schedule: "0 1 * * *"',
    ].join('\n'),
    {
      BASE: 'https://p.example',
      DATABASE_URL: 'postgres://u:secret@h/d',
      FOLIOPIPE_REPORT__WEBHOOK: 'https://hook.example/secret',
    },
  );
  expect(job).toEqual({
    pipeline: 'nightly',
    service: { baseUrl: `\${BASE}`, token: `\${FOLIOPIPE_TOKEN}` },
    load: { into: `\${DATABASE_URL}`, table: 't', mode: 'append' },
  });
});

it('leaves out the address of a query that the environment gives, as that of a load: it was refused with its password', async () => {
  const job = await jobOf('source: { query: { sql: select 1 } }', {
    FOLIOPIPE_SOURCE__QUERY__DATABASE: 'postgres://u:secret@h/d',
    FOLIOPIPE_LOAD__INTO: 'postgres://u:secret@h/d',
  });
  expect(job).toEqual({ source: { query: { sql: 'select 1' } } });
});

it('makes relative paths absolute: those of files, of flags, and those that begin with a variable', async () => {
  const job = await jobOf(
    `source: { path: "in/\${NAME}.csv" }\noutput: { path: "\${OUT}/a.csv" }\nreport: { html: "\${SUB}/r.html" }`,
    { NAME: 'a', OUT: '/mnt/out', SUB: 'sub' },
    [['service.tokenFile', 'token.txt']],
  );
  expect(job).toEqual({
    source: { path: join(await folder(), `in/\${NAME}.csv`) },
    output: { path: `\${OUT}/a.csv` },
    report: { html: join(await folder(), `\${SUB}/r.html`) },
    service: { tokenFile: '/typed/token.txt' },
  });
});

it.each([
  ['service: { token: tok-written }', 'service.token', 'a token'],
  [`service: { token: "\${TOKEN:-tok-written}" }`, 'service.token', 'a token'],
  ['load: { into: "postgres://u:tok-written@h/d" }', 'load.into', 'a password'],
  [`load: { into: "\${URL:-postgres://u:tok-written@h/d}" }`, 'load.into', 'the default of a variable'],
  ['report: { webhook: "https://hook.example/tok-written" }', 'report.webhook', 'the address of a webhook'],
  [
    `source: { query: { database: "\${URL:-postgres://u:tok-written@h/d}", sql: select 1 } }`,
    'source.query.database',
    'the default of a variable',
  ],
  ['load: { into: "postgres://u:tok-written%zz@h/d" }', 'load.into', 'a password'],
])('refuses a secret that is written out: %s', async (yaml, key, what) => {
  const error = (await jobOf(yaml).catch((thrown: unknown) => thrown)) as Error;
  expect(error).toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining(`${key}: ${what}`),
  });
  expect(JSON.stringify(error) + error.message).not.toContain('tok-written');
});

it('takes over what flags and the environment set', async () => {
  const job = await jobOf(
    'chunks: { maxRecords: 5 }',
    { FOLIOPIPE_CHUNKS__MAX_BYTES: '2MB', FOLIOPIPE_UPLOAD__DESCRIPTION: `\${not a variable}` },
    [['chunks.maxRecords', '7']],
  );
  expect(job).toEqual({
    chunks: { maxRecords: 7, maxBytes: '2MB' },
    upload: { description: `$\${not a variable}` },
  });
});
