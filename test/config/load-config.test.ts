import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load-config.js';
import { configErrorOf, variable } from '../helpers/config/minimal-config.js';
import { useSharedFolder } from '../helpers/folders/folders.js';

const BASE = `
pipeline: nightly
source: { path: in.csv }
upload:
  columns: { name: BusinessName }
service: { baseUrl: https://predict.example, token: t0ken }
chunks: { maxRecords: 100, maxBytes: 1MB }
output: { path: out.csv, columns: [a, b] }
`;

const newFolder = useSharedFolder();
let cwd: string;
beforeAll(async () => {
  cwd = await newFolder();
  await mkdir(join(cwd, 'conf'));
  await write('conf/base.yaml', BASE);
});

async function write(name: string, text: string): Promise<string> {
  await writeFile(join(cwd, name), text);
  return name;
}

interface Given {
  files?: readonly string[];
  env?: Record<string, string | undefined>;
  set?: Record<string, unknown>;
}

function load({ files = ['conf/base.yaml'], env = {}, set = {} }: Given) {
  const overrides = Object.entries(set).map(([key, value]) => ({
    key,
    value,
    baseDir: cwd,
    origin: '--set',
  }));
  return loadConfig({ files, env, overrides, cwd });
}

const errorOf = (given: Given) => configErrorOf(() => load(given));

test('flags override the environment, it overrides files, a later file an earlier one, and all of them defaults', async () => {
  const files = ['conf/base.yaml', await write('over.yaml', 'chunks: { maxRecords: 200 }')];
  const env = { FOLIOPIPE_CHUNKS__MAX_RECORDS: '300' };
  const maxRecords = async (given: Given) => (await load(given)).chunks.maxRecords;
  expect(await maxRecords({})).toBe(100);
  expect(await maxRecords({ files })).toBe(200);
  expect(await maxRecords({ files, env })).toBe(300);
  expect(await maxRecords({ files, env, set: { 'chunks.maxRecords': '400' } })).toBe(400);
  expect(await maxRecords({ set: { 'chunks.maxRecords': 500 } })).toBe(500);
});

test('maps merge and lists are replaced', async () => {
  const over = await write(
    'merge.yaml',
    'upload: { columns: { city: City } }\noutput: { columns: [c] }\nchunks:\n',
  );
  const config = await load({ files: ['conf/base.yaml', over] });
  expect(config.upload.columns).toEqual({ name: 'BusinessName', city: 'City' });
  expect(config.output).toMatchObject({ path: join(cwd, 'conf/out.csv'), columns: ['c'] });
  expect(config.chunks).toMatchObject({ maxRecords: 100, maxBytes: 1_048_576 });
});

test('a relative path is relative to where it was written; the state is beside the first file', async () => {
  const config = await load({
    env: { FOLIOPIPE_OUTPUT__PATH: 'env.csv' },
    set: { 'source.path': 'flag/*.csv' },
  });
  expect(config.output.path).toBe(join(cwd, 'env.csv'));
  expect(config.source.path).toBe(join(cwd, 'flag/*.csv'));
  expect(config.stateDir).toBe(join(cwd, 'conf/.foliopipe'));
  expect((await load({ env: { FOLIOPIPE_STATE_DIR: 'state' } })).stateDir).toBe(join(cwd, 'state'));
});

test('an address and a dash in a flag or a variable are reported as what they are', async () => {
  const set = { 'source.path': 's3://bucket/in.csv', 'output.path': 'gs://bucket/out.csv' };
  await expect(load({ set })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    facts: {
      'source.path': expect.stringContaining('an address is not a path'),
      'output.path': expect.stringContaining('an address is not a path'),
    },
  });
  await expect(load({ env: { FOLIOPIPE_OUTPUT__PATH: '-' } })).rejects.toMatchObject({
    facts: { 'output.path': expect.stringContaining('- is not a path') },
  });
  expect((await load({ set: { 'source.path': '-' } })).source.path).toBe('-');
});

test('needs no file when flags say enough', async () => {
  const set = {
    pipeline: 'p',
    'source.path': 'in.csv',
    'upload.columns': '{name: N, zip: Z}',
    'service.embedded': 'true',
    'output.path': 'o.csv',
  };
  const config = await load({ files: [], set });
  expect(config.upload.columns).toEqual({ name: 'N', zip: 'Z' });
  expect(config.stateDir).toBe(join(cwd, '.foliopipe'));
});

test('a variable or flag is used unchanged for a key that takes a text, and is YAML for others', async () => {
  const config = await load({
    env: {
      FOLIOPIPE_OUTPUT__MODE: '0600',
      FOLIOPIPE_UPLOAD__KEY_COLUMN: 'null',
      FOLIOPIPE_OUTPUT__COLUMNS: '[x, y]',
      FOLIOPIPE_OUTPUT__LINEAGE: 'true',
      FOLIOPIPE_FAILURES__TOLERATE: '2%',
      FOLIOPIPE_CHUNKS__MAX_BYTES: '4096',
      FOLIOPIPE_SERVICE__TOKEN: `0123${variable('x')}#`,
      FOLIOPIPE_SOURCE__PATH: '',
    },
    set: { 'upload.columns.name': '007', 'source.delimiter': '"\\t"' },
  });
  expect(config.output).toMatchObject({ mode: 0o600, columns: ['x', 'y'], lineage: true });
  expect(config.upload).toMatchObject({ keyColumn: null, columns: { name: '007' } });
  expect(config.failures.tolerate).toBe(0.02);
  expect(config.chunks.maxBytes).toBe(4096);
  expect(config.service.token?.reveal()).toBe(`0123${variable('x')}#`);
  expect(config.source).toMatchObject({ path: join(cwd, 'conf/in.csv'), delimiter: '\t' });
});

test('a token with what YAML reads as a comment is refused, not cut', async () => {
  const error = await errorOf({ env: { FOLIOPIPE_SERVICE__TOKEN: 'hunter2 #rest' } });
  expect(error.message).toContain('service.token: expected a token');
  expect(error.message).not.toContain('hunter2');
});

test('FOLIOPIPE_TOKEN is the token when the config gives none', async () => {
  const env = { FOLIOPIPE_TOKEN: 'from-env' };
  const silent = await write('silent.yaml', BASE.replace(', token: t0ken', ''));
  expect((await load({ files: [silent], env })).service.token?.reveal()).toBe('from-env');
  expect((await load({ env })).service.token?.reveal()).toBe('t0ken');
  const unsaid = { 'service.token': null };
  expect((await load({ env, set: unsaid })).service.token?.reveal()).toBe('from-env');
  await write('token', 'from-file');
  const set = { 'service.tokenFile': 'token' };
  expect((await load({ files: [silent], env, set })).service.token?.reveal()).toBe('from-file');
});

test('variables are put into texts and numbers, and cannot add YAML', async () => {
  const file = await write(
    'variables.yaml',
    `${BASE}budget: { pricePerRecord: "${variable('PRICE')}", currency: "${variable('CURRENCY:-CHF')}" }
result: { columns: ["${variable('NAME')}"] }
timeouts: { idle: "${variable('SECONDS')}s" }
`,
  );
  const env = { PRICE: '0.25', NAME: 'x, y]', SECONDS: '7' };
  const config = await load({ files: [file], env });
  expect(config.budget).toMatchObject({ pricePerRecord: 0.25, currency: 'CHF' });
  expect(config.result.columns).toEqual(['x, y]']);
  expect(config.timeouts.idle).toBe(7000);

  const error = await errorOf({ files: [file], env: { ...env, PRICE: '{ perRun: 5 }' } });
  expect(error.message).toContain(
    `budget.pricePerRecord: expected a price, 0 or more, or null, got "${variable('PRICE')}"`,
  );
});

test('an unset variable is reported with its key and line, unless a later layer sets the key', async () => {
  const file = await write('unset.yaml', BASE.replace('t0ken', `"${variable('NO_SUCH')}"`));
  const { message } = await errorOf({ files: [file] });
  expect(message).toContain('service.token: the variable NO_SUCH is not set (unset.yaml:6)');
  await load({ files: [file], env: { FOLIOPIPE_SERVICE__TOKEN: 't' } });
  const rehearsal = await load({ files: [file], set: { 'service.embedded': true } });
  expect(rehearsal.service.token).toBeNull();
});

test('every problem says where it came from', async () => {
  const file = await write('bad.yaml', `${BASE}\npoll:\n  first: 10\n  maxx: 1s\nretry: []\n`);
  const { message } = await errorOf({
    files: [file],
    env: { FOLIOPIPE_CONCURRENCY__UPLOADS: 'many' },
    set: { 'chunks.maxRecord': '5' },
  });
  expect(message.split('\n  ').slice(1)).toEqual([
    expect.stringMatching(/^chunks\.maxRecord: unknown key, did you mean maxRecords\? \(--set\)$/),
    expect.stringMatching(
      /^concurrency\.uploads: expected .*, got "many" \(FOLIOPIPE_CONCURRENCY__UPLOADS\)$/,
    ),
    expect.stringMatching(/^poll\.first: expected .*, got 10 \(bad\.yaml:11\)$/),
    expect.stringMatching(/^poll\.maxx: unknown key, did you mean max\? \(bad\.yaml:12\)$/),
    expect.stringMatching(/^retry: expected a map .*, got an empty list \(bad\.yaml:13\)$/),
  ]);
});

test('a variable that looks like a key but is not one is refused; other variables are ignored', async () => {
  const { facts } = await errorOf({ env: { FOLIOPIPE_CHUNKS__MAX_RECRDS: '5', FOLIOPIPE_POLL__X__Y: '5' } });
  expect(facts).toEqual({
    FOLIOPIPE_CHUNKS__MAX_RECRDS: 'names no key of the config, did you mean FOLIOPIPE_CHUNKS__MAX_RECORDS?',
    FOLIOPIPE_POLL__X__Y: expect.stringContaining('names no key of the config'),
  });
  await load({
    env: { FOLIOPIPE_SOURCE: 'x', FOLIOPIPE_LOG: '1', FOLIOPIPE_NOTHING__HERE: '', OTHER__KEY: '1' },
  });
  expect((await load({ env: { FOLIOPIPE_PIPELINE: 'p2' } })).pipeline).toBe('p2');
});

test('a token in a flag is refused, a reference to a variable is not', async () => {
  const error = await errorOf({ set: { 'service.token': 'hunter2' } });
  expect(error.message).toContain('can be read by every user');
  expect(error.message).not.toContain('hunter2');
  expect((await errorOf({ set: { service: '{token: hunter2}' } })).message).toContain(
    'can be read by every user',
  );
  const set = { 'service.token': variable('MINE') };
  expect((await load({ set, env: { MINE: 'm' } })).service.token?.reveal()).toBe('m');
});

test('a missing file is named', async () => {
  const error = await errorOf({ files: ['conf/base.yaml', 'none.yaml'] });
  expect(error).toMatchObject({ code: 'CONFIG_UNREADABLE', exitCode: 2, facts: { reason: 'ENOENT' } });
  expect(error.message).toContain('none.yaml');
});

test.each([
  ['a map in a scalar', 'service:\n  token: hunter2: x\n', 2],
  ['an alias without anchor', 'pipeline: p\nservice: { token: *hunter2 }\n', undefined],
  ['a doubled key', 'pipeline: a\npipeline: hunter2\n', 2],
  ['an unknown tag', 'pipeline: !hunter2 x\n', 1],
  ['an open quote', 'pipeline: "hunter2\n', undefined],
  ['two documents', 'pipeline: a\n---\npipeline: hunter2\n', undefined],
])('invalid YAML is reported by line and without its text: %s', async (_, text, line) => {
  const error = await errorOf({ files: [await write('broken.yaml', text)] });
  expect(error.message).toMatch(/broken\.yaml(:\d+)?: is not YAML: \w+/);
  if (line !== undefined) expect(error.message).toContain(`broken.yaml:${line}: `);
  expect(error.message).not.toContain('hunter2');
});

test('an empty file gives no settings; a file with a list is refused', async () => {
  const empty = await write('empty.yaml', '# nothing\n');
  expect((await load({ files: ['conf/base.yaml', empty] })).pipeline).toBe('nightly');
  const list = await write('list.yaml', '- a\n');
  expect((await errorOf({ files: ['conf/base.yaml', list] })).message).toContain('expected a map of keys');
});

test('a stateDir beside a state names what gives the state', async () => {
  const env = { FOLIOPIPE_STATE: 'postgres://u:hunter2@h/d' };
  const { message } = await errorOf({ env, set: { stateDir: 's' } });
  expect(message).toContain('stateDir: is set in addition to state (FOLIOPIPE_STATE); use only one of them');
  expect(message).not.toContain('hunter2');
});

test('an output in S3 is in no folder, also where the state is in the working folder', async () => {
  const config = await load({ set: { 'output.path': 's3://bucket/out.csv', stateDir: '.' } });
  expect(config.output.path).toBe('s3://bucket/out.csv');
});

test('a later path of another format removes the types of a Parquet output; in the same layer both are a problem', async () => {
  const parquet = await write('parquet.yaml', 'output: { path: o.parquet, types: { Zip: integer } }');
  const files = ['conf/base.yaml', parquet];
  const typesOf = async (given: Given) => (await load({ files, ...given })).output.types;
  expect(await typesOf({})).toEqual({ Zip: 'integer' });
  expect(await typesOf({ set: { 'output.path': 'o.csv.gz' } })).toEqual({});
  expect(await typesOf({ env: { FOLIOPIPE_OUTPUT__PATH: 'o.csv' } })).toEqual({});
  expect(await typesOf({ files: [parquet, 'conf/base.yaml'] })).toEqual({});
  expect(await typesOf({ set: { 'output.path': 'other.parquet' } })).toEqual({ Zip: 'integer' });
  expect(await typesOf({ set: { 'output.path': variable('OUT') }, env: { OUT: 'o.parquet' } })).toEqual({
    Zip: 'integer',
  });
  const both = { 'output.path': 'o.csv', 'output.types.a': 'double' };
  expect((await errorOf({ files, set: both })).message).toContain('ends in .parquet');
});

test('{} and null empty a map of names in a later layer, and null takes one name back', async () => {
  const parquet = await write('typed.yaml', 'output: { path: o.parquet, types: { Zip: integer, b: date } }');
  const over = await write('over-typed.yaml', 'output: { types: {} }');
  const files = ['conf/base.yaml', parquet];
  const typesOf = async (given: Given) => (await load({ files, ...given })).output.types;
  expect(await typesOf({ set: { 'output.types': '{}' } })).toEqual({});
  expect(await typesOf({ set: { 'output.types': 'null' } })).toEqual({});
  expect(await typesOf({ files: [...files, over] })).toEqual({});
  expect(await typesOf({ files: [...files, over], set: { 'output.types.c': 'double' } })).toEqual({
    c: 'double',
  });
  expect(await typesOf({ set: { 'output.types.Zip': 'null' } })).toEqual({ b: 'date' });
  const unknown = await errorOf({ files, set: { 'output.types.c': 'null' } });
  expect(unknown.facts).toEqual({ 'output.types.c': expect.stringContaining('expected integer') });
});
