import { expect, test } from 'vitest';
import { loadConfig, parseConfig } from '../../src/config/load-config.js';
import type { ConfigInput } from '../../src/config/schema.js';
import { Secret } from '../../src/config/sections/service-section.js';
import { configErrorOf, minimal, minimalWith, variable } from '../helpers/config/minimal-config.js';

async function problemsOf(value: unknown): Promise<Readonly<Record<string, unknown>>> {
  return (await configErrorOf(() => parseConfig(value as ConfigInput, '/base'))).facts;
}

// The defaults of all keys: config/nightly.example.yaml, which load-config.samples.test.ts compares with them.
test('fills in defaults, makes paths absolute and hides the token', () => {
  const { service, chunks, output } = parseConfig(minimal(), '/base');
  expect(chunks).toEqual({ maxRecords: 10_000, maxBytes: 8_388_608, canary: 0 });
  expect(output.path).toBe('/base/out.csv');
  expect(service.token).toBeInstanceOf(Secret);
  expect(service.token?.reveal()).toBe('t0ken');
});

test('lists every problem at once, each with its key', async () => {
  const facts = await problemsOf({
    pipeline: 'a b',
    upload: { columns: {} },
    service: { baseUrl: 'ftp://x', token: 't' },
    chunks: { maxRecord: 5, maxBytes: '10B' },
    concurrency: { uploads: 0, folios: 1.5, downloads: '4' },
    poll: { first: '10m', max: '1m', timeout: 60 },
    retry: 7,
    failures: { tolerate: '150%' },
    output: { path: 'o.csv', columns: [], prefix: 'a-b', mode: '0240', lineage: 'yes' },
    nonsense: true,
  });
  expect(Object.keys(facts).sort()).toEqual(
    [
      'pipeline',
      'upload.columns',
      'service.baseUrl',
      'chunks.maxRecord',
      'chunks.maxBytes',
      'concurrency.uploads',
      'concurrency.folios',
      'concurrency.downloads',
      'poll.timeout',
      'retry',
      'failures.tolerate',
      'output.columns',
      'output.prefix',
      'output.mode',
      'output.lineage',
      'nonsense',
    ].sort(),
  );
  expect(facts['chunks.maxRecord']).toBe('unknown key, did you mean maxRecords?');
  expect(facts['concurrency.uploads']).toBe('expected a whole number, 1 or more, got 0');
  expect(facts['concurrency.downloads']).toBe('expected a whole number, 1 or more, got "4"');
  expect(facts['service.baseUrl']).toMatch(/^expected an https:.* got "ftp:\/\/x"$/);
});

test('the error says what to do, and its message holds what its facts hold', async () => {
  const error = await configErrorOf(() =>
    parseConfig(minimalWith({ chunks: { canary: -1, x: 1 } }), '/base'),
  );
  expect(error).toMatchObject({ code: 'CONFIG_INVALID', exitCode: 2 });
  expect(error.message).toContain('the config has 2 problems:\n  chunks.canary: expected');
  expect(error.message).toContain('\n  chunks.x: unknown key; known here are maxRecords, maxBytes, canary');
  expect(error.hint).toBeTruthy();
});

test.each([
  ['chunks', { maxBites: '8MB' }, 'chunks.maxBites', 'did you mean maxBytes?'],
  ['Source', { path: 'x' }, 'Source', 'did you mean source?'],
  ['maxRecords', 5, 'maxRecords', 'did you mean chunks.maxRecords?'],
  ['poll', { giveUpAfter: '1h' }, 'poll.giveUpAfter', 'did you mean retry.giveUpAfter?'],
  ['sauce', {}, 'sauce', 'did you mean source?'],
  ['chunks', { maxBites: {} }, 'chunks.maxBites', 'did you mean maxBytes?'],
])('an unknown key is reported with the nearest known name: %s', async (section, value, key, text) => {
  expect((await problemsOf(minimalWith({ [section]: value })))[key]).toContain(text);
});

test.each([
  ['poll.first', { poll: { first: '2m', max: '1m' } }, 'is longer than poll.max'],
  ['retry.first', { retry: { first: '2m', max: '1m' } }, 'is longer than retry.max'],
  ['chunks.maxRecords', { chunks: { maxRecords: {} } }, 'a whole number, 1 or more, got a map'],
  ['upload.keyColumn', { upload: { columns: { id: 'Id' }, keyColumn: 'id' } }, 'choose another name'],
  ['result.echo', { result: { echo: ['Name'] } }, 'upload.columns sends no Name; it sends '],
  ['upload.columns.7', { upload: { columns: { 7: 'Id' } } }, 'cannot be a number'],
  ['upload.columns.a', { upload: { columns: { a: '' } } }, 'expected the name of a source column'],
  ['upload.description', { upload: { columns: { a: 'A' }, description: '{date}' } }, '{chunk}'],
  ['source.encoding', { source: { path: 'x', encoding: 'klingon' } }, 'got "klingon"'],
  ['source.delimiter', { source: { path: 'x', delimiter: '"' } }, 'not a quote'],
  ['source.delimiter', { source: { path: 'x', delimiter: '||' } }, 'one ASCII character'],
  ['source.quote', { source: { path: 'x', quote: "'" } }, 'auto or none'],
  ['source.header', { source: { path: 'x', header: 'none' } }, 'first, rename, or a list of column names'],
  ['source.header', { source: { path: 'x', header: ['a', 'a'] } }, 'each once'],
  ['source.header', { source: { path: 'x', header: [] } }, 'first, rename, or a list of column names'],
  ['source.skipLines', { source: { path: 'x', skipLines: -1 } }, 'a whole number, 0 or more'],
  ['source.path', { source: { path: '~/in.csv' } }, 'not read by a shell'],
  ['output.columns', { output: { path: 'o', columns: ['a', 'a'] } }, 'each once'],
  ['output.path', { output: { path: 's3://bucket/out/' } }, 'names a folder in S3'],
  ['output.path', { output: { path: 'out.parquet/' } }, 'its name ends like another format'],
  ['output.path', { output: { path: 'out/{run}-1/' } }, 'the folder of a single publication'],
  ['output.maxFileBytes', { output: { path: 'o.csv', maxFileBytes: '1GB' } }, 'ends in /'],
  ['output.maxFileBytes', { output: { path: 'out/', maxFileBytes: 10 } }, 'or null'],
  ['output.keep', { output: { path: 'out/', keep: 0 } }, 'a whole number, 1 or more'],
  [
    'source.path',
    {
      source: { path: 'out/20261121T223000-4f9c1a-3/data/part-00000.csv' },
      output: { path: 'out/' },
    },
    'is in a publication of this output',
  ],
  ['output.path', { output: { path: 'out/{day}.csv' } }, '{date}, {run}, {pipeline}'],
  ['output.path', { output: { path: 'out.csv.zip' } }, 'write .csv, .csv.gz, .csv.zst or .parquet'],
  ['output.path', { output: { path: 'out.parquet.gz' } }, 'a format that is not written'],
  ['output.types', { output: { path: 'o.csv', types: { a: 'double' } } }, 'ends in .parquet'],
  ['output.types.a', { output: { path: 'o.parquet', types: { a: 'text' } } }, 'integer, bigint, double'],
  [
    'output.types.a',
    { output: { path: 'o.parquet', types: { a: 'decimal(39,2)' } } },
    'decimal(digits,scale)',
  ],
  [
    'load',
    { output: { path: 'o.PARQUET' }, load: { into: 'postgres://h/d', table: 't', mode: 'append' } },
    'reads a CSV',
  ],
  ['output.path', { output: { path: './in.csv' } }, 'is the source itself'],
  ['output.path', { output: { path: 'state/x/out.csv' }, stateDir: 'state/x/' }, 'lies in stateDir'],
  ['output.path', { output: { path: 'state' }, stateDir: 'state' }, 'lies in stateDir'],
  ['output.path', { output: { path: 's3://B/out.csv' } }, 'needs a bucket of 3 to 63'],
  ['output.path', { output: { path: 's3://bucket' } }, 'write a key too'],
  ['output.path', { output: { path: 's3://bucket/a/../b' } }, '. or .. in its key'],
  ['output.path', { output: { path: 's3://bucket/{day}' } }, '{date}, {run}, {pipeline}'],
  ['output.s3.endpoint', { output: { path: 'o.csv', s3: { endpoint: 'https://u:p@host' } } }, 'without user'],
  ['output.s3.region', { output: { path: 'o.csv', s3: { region: 'eu west' } } }, 'a region such as'],
  ['output.path', { output: { path: 'gs://bucket/out.csv' } }, 'gcloud storage cp'],
  ['output.path', { output: { path: 'HTTPS://host/out.csv' } }, 'an address is not a path'],
  ['output.path', { output: { path: '-' } }, 'foliopipe run && cat FILE'],
  ['source.path', { source: { path: 's3://bucket/*.csv' } }, 'copy the file to this machine first'],
  ['source.path', { source: { path: 'https://host/in.csv' } }, 'curl -o'],
  ['stateDir', { stateDir: 's3://bucket/state' }, 'a file on this machine'],
  ['state', { state: 'mysql://u:secret@h/d' }, 'postgres://user@host/database, got a text that is not shown'],
  ['files', { files: 'file:///share' }, 'only for a state in a database'],
  ['files', { state: 'postgres://h/d', files: 's3://bucket' }, 'a folder that all machines see'],
  ['scratchDir', { scratchDir: 'scratch' }, 'write stateDir'],
  ['schedule', { schedule: '0 1 * * *' }, 'set state, or let cron begin the run'],
  ['schedule', { state: 'postgres://h/d', schedule: '0 0 1 * * *' }, 'this one has 6 fields instead of five'],
  ['schedule', { state: 'postgres://h/d', schedule: '0 25 * * *' }, '25 is not a valid hour'],
  ['schedule', { state: 'postgres://h/d', schedule: '0 1 30 feb *' }, 'a day that no month has'],
  ['timeZone', { timeZone: 'Mars/Olympus' }, 'a time zone such as UTC'],
  ['stateDir', { state: 'postgres://h/d', stateDir: 'state' }, 'use only one of them'],
  ['output.mode', { output: { path: 'o', mode: 640 } }, 'in quotes'],
  ['result.columns', { result: { columns: ['a', 'a'] } }, 'each once'],
  ['budget.timeZone', { budget: { timeZone: 'Mars/Olympus' } }, 'America/Denver'],
  ['budget.currency', { budget: { currency: 'dollars' } }, 'USD'],
  ['source.key', { source: { path: 'x', key: [] } }, 'null, the name of a source column, or a list'],
  ['source.key', { source: { path: 'x', key: '' } }, 'or a list of source columns, each once'],
  ['source.key', { source: { path: 'x', key: ['a', 'a'] } }, 'each once, got the list ["a","a"]'],
  ['source.key', { source: { path: 'x', key: [1] } }, 'or a list of source columns'],
  ['output.delta', { output: { path: 'o', delta: true } }, 'needs source.key'],
  ['output.delta', { output: { path: 'o', delta: 'yes' } }, 'expected true or false'],
  ['failures.onExceeded', { failures: { onExceeded: 'keep' } }, 'publish or withhold'],
  ['upload.duplicates', { upload: { columns: { a: 'A' }, duplicates: 'never' } }, 'send or once'],
  ['reuse.maxAge', { reuse: { maxAge: 90 } }, 'a duration with its unit, such as 12h, 90d or 2y, or 0'],
  ['reuse.maxAge', { reuse: { maxAge: '-1d' } }, 'or 0, got "-1d"'],
  ['reuse.failedAge', { reuse: { failedAge: null } }, 'a duration with its unit'],
  ['reuse.epoch', { reuse: { epoch: 2 } }, 'a number needs quotes, got 2'],
  ['reuse.epoch', { reuse: { epoch: 'a\tb' } }, 'without control characters'],
  ['reuse.epoch', { reuse: { epoch: ' 2' } }, 'without spaces around it'],
  ['reuse.epoch', { reuse: { epoch: 'e'.repeat(65) } }, 'at most 64 characters'],
  ['reuse.maxMiss', { reuse: { maxMiss: '150%' } }, 'a share such as 5%'],
  ['service.requestsPerSecond', { service: { embedded: true, requestsPerSecond: 0 } }, 'above 0'],
  ['upload', { upload: null }, ''],
  ['config', null, ''],
])('%s is refused: %j', async (key, sections, text) => {
  const facts = await problemsOf(sections === null ? 'a text' : minimalWith(sections));
  const found = Object.entries(facts).find(([name]) => name === key || name.startsWith(`${key}.`));
  expect(found?.[1]).toContain(text);
  expect(found).toBeDefined();
});

test('with a state in a database, answers are reused, duplicates are sent once, and deltas are written', () => {
  const config = parseConfig(
    minimalWith({
      state: 'postgres://h/d',
      source: { path: 'x', key: 'a' },
      upload: { columns: { a: 'A' }, duplicates: 'once' },
      reuse: { maxAge: '1d' },
      output: { path: 'o', delta: true },
    }),
  );
  expect(config).toMatchObject({ reuse: { maxAge: 86_400_000 }, output: { delta: true } });
});

test('accepts policies, caps, prices, chosen columns, no key column', () => {
  const config = parseConfig(
    minimalWith({
      upload: { columns: { z: 'Z', a: 'A' }, keyColumn: null },
      ambiguous: { policy: 'hold' },
      result: { columns: ['naics_code'], echo: [], onChange: 'ignore' },
      chunks: { canary: 'auto' },
      failures: { rounds: 2, maxSplits: 0 },
      budget: { perRun: 1, pricePerRecord: 0.004, currency: 'EUR', timeZone: 'Europe/Berlin' },
      output: { path: '/abs/out.csv', columns: ['Id', 'Name'], mode: '600' },
    }),
    '/base',
  );
  expect(Object.keys(config.upload.columns)).toEqual(['z', 'a']);
  expect(config.chunks.canary).toBe('auto');
  expect(config.output).toMatchObject({ path: '/abs/out.csv', columns: ['Id', 'Name'], mode: 0o600 });
});

test('accepts a key, a delta, duplicates that are sent once, and reuse', () => {
  const config = parseConfig(
    minimalWith({
      source: { path: 'in.csv', key: ['State', 'Id'] },
      upload: { columns: { name: 'Name' }, duplicates: 'once' },
      reuse: { maxAge: '2y', failedAge: 0, epoch: '2026-11, model β', maxMiss: '12.5%' },
      output: { path: 'out.csv', delta: true },
    }),
    '/base',
  );
  expect(config.source.key).toEqual(['State', 'Id']);
  expect(config.upload.duplicates).toBe('once');
  const twoYears = 2 * 365.25 * 86_400_000;
  expect(config.reuse).toEqual({
    maxAge: twoYears,
    failedAge: 0,
    epoch: '2026-11, model β',
    maxMiss: 0.125,
  });
  expect(config.output.delta).toBe(true);
});

test('a key of one column may be written as its name', () => {
  const config = parseConfig(minimalWith({ source: { path: 'in.csv', key: 'Account Id' } }), '/base');
  expect(config.source.key).toEqual(['Account Id']);
});

test.each([
  ['source.key', 'Id', { source: { key: ['Id'] } }],
  ['source.key', '[State, Id]', { source: { key: ['State', 'Id'] } }],
  ['source.key', 'null', { source: { key: null } }],
  ['reuse.maxAge', '0', { reuse: { maxAge: 0 } }],
  ['reuse.maxAge', '90d', { reuse: { maxAge: 7_776_000_000 } }],
  ['reuse.epoch', '2', { reuse: { epoch: '2' } }],
  ['reuse.epoch', '', { reuse: { epoch: '' } }],
  ['reuse.maxMiss', '40%', { reuse: { maxMiss: 0.4 } }],
  ['service.name', '2026', { service: { name: '2026' } }],
])('a flag gives %s the text %s', async (key, value, expected) => {
  const folder = '/base';
  const service = { embedded: true };
  const given = Object.entries(minimalWith({ service })).map(([name, section]) => ({
    key: name,
    value: section,
  }));
  const overrides = [...given, { key, value }].map((one) => ({ ...one, baseDir: folder, origin: 'a test' }));
  expect(await loadConfig({ files: [], env: {}, overrides, cwd: folder })).toMatchObject(expected);
});

test('has no environment: a reference to a variable is a problem, an escaped one is a text', async () => {
  const facts = await problemsOf(minimalWith({ source: { path: variable('HOME') } }));
  expect(facts['source.path']).toBe('the variable HOME is not set');
  const config = parseConfig(minimalWith({ source: { path: `$${variable('x')}.csv` } }), '/base');
  expect(config.source.path).toBe(`/base/${variable('x')}.csv`);
});

test('the key __proto__ is refused and sets nothing', async () => {
  const facts = await problemsOf(
    JSON.parse('{"__proto__": {"polluted": 1}, "upload": {"columns": {"__proto__": "A"}}}'),
  );
  expect(facts).toMatchObject({
    '__proto__.polluted': 'cannot be a key',
    'upload.columns.__proto__': 'cannot be a key',
  });
  expect(Object.keys(Object.prototype)).toEqual([]);
});
