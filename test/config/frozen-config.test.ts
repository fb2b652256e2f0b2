import { expect, test } from 'vitest';
import { checkFrozenConfig, frozenConfig } from '../../src/config/frozen-config.js';
import { parseConfig } from '../../src/config/load-config.js';
import { configErrorOf, minimalWith } from '../helpers/config/minimal-config.js';

const SERVICE = 'https://predict.example';

function frozen(sections: Record<string, unknown> = {}, service = SERVICE): Record<string, string> {
  return frozenConfig(parseConfig(minimalWith(sections), '/base'), service);
}

test.each([
  ['upload.columns', { upload: { columns: { name: 'Other' } } }],
  ['upload.keyColumn', { upload: { columns: { name: 'BusinessName' }, keyColumn: null } }],
  ['upload.description', { upload: { columns: { name: 'BusinessName' }, description: '' } }],
  ['upload.skipBlank', { upload: { columns: { name: 'BusinessName' }, skipBlank: false } }],
  ['upload.duplicates', { upload: { columns: { name: 'BusinessName' }, duplicates: 'once' } }],
  ['chunks.maxRecords', { chunks: { maxRecords: 5 } }],
  ['chunks.maxBytes', { chunks: { maxBytes: '1MB' } }],
  ['source.encoding', { source: { path: 'in.csv', encoding: 'latin1' } }],
  ['source.quote', { source: { path: 'in.csv', quote: 'none' } }],
  ['source.header', { source: { path: 'in.csv', header: ['a', 'b'] } }],
  ['source.skipLines', { source: { path: 'in.csv', skipLines: 1 } }],
  ['source.delimiter', { source: { path: 'in.csv', delimiter: ';' } }],
  ['source.key', { source: { path: 'in.csv', key: ['id'] } }],
  ['output.path', { output: { path: 'o2.csv' } }],
  ['output.columns', { output: { path: 'out.csv', columns: ['a'] } }],
  ['output.prefix', { output: { path: 'out.csv', prefix: 'p_' } }],
  ['output.lineage', { output: { path: 'out.csv', lineage: true } }],
  ['output.mode', { output: { path: 'out.csv', mode: '0600' } }],
])('%s may not change while a run is open', async (key, sections) => {
  const error = await configErrorOf(() => checkFrozenConfig(frozen(), frozen(sections), { id: 'R1' }));
  expect(error).toMatchObject({ code: 'CONFIG_FROZEN', exitCode: 2, facts: { run: 'R1', keys: key } });
  expect(error.hint).toContain('--new');
});

test('the service may not change', async () => {
  const error = await configErrorOf(() =>
    checkFrozenConfig(frozen(), frozen({}, 'embedded:/x'), { id: 'R1' }),
  );
  expect(error.message).toContain(`service: "${SERVICE}" when it began, "embedded:/x" now`);
});

/** A service with a name, at an address. */
const named = (baseUrl: string) => ({ service: { name: 'predictions', baseUrl, token: 't0ken' } });

test('the address of a service with a name may not change, because the folios are there', async () => {
  const [old, moved] = [named(SERVICE), named('https://moved.example')];
  const error = await configErrorOf(() =>
    checkFrozenConfig(frozen(old, 'predictions'), frozen(moved, 'predictions'), { id: 'R1' }),
  );
  expect(error).toMatchObject({ code: 'CONFIG_FROZEN', facts: { keys: 'service.address' } });
  expect(error.message).toContain(`service.address: "${SERVICE}" when it began, "https://moved.example" now`);
  expect(error.hint).toMatch(/^its folios are at the old address: .* --new/);
});

test('the address of an embedded service with a name is its data folder', () => {
  const service = { name: 'trial', embedded: true };
  const values = frozen({ service, stateDir: '/state' }, 'embedded:trial');
  expect(values['service.address']).toBe('"embedded:/state/service"');
});

test('a service that has just been given a name is another one', async () => {
  const now = frozen(named(SERVICE), 'predictions');
  const { facts, message } = await configErrorOf(() => checkFrozenConfig(frozen(), now, { id: 'R1' }));
  expect(facts.keys).toBe('service');
  expect(message).toContain(`service: "${SERVICE}" when it began, "predictions" now`);
});

test('a run from before a key was known has done what its default says', async () => {
  const older = frozen();
  for (const key of ['source.key', 'upload.duplicates', 'output.delta']) delete older[key];
  expect(() => checkFrozenConfig(older, frozen(), { id: 'R1' })).not.toThrow();
  const now = frozen({ upload: { columns: { name: 'BusinessName' }, duplicates: 'once' } });
  const { message } = await configErrorOf(() => checkFrozenConfig(older, now, { id: 'R1' }));
  expect(message).toContain('upload.duplicates: "send" when it began, "once" now');
});

test('a delta may not be asked for while a run is open', async () => {
  const keyed = (delta: boolean) =>
    frozen({ source: { path: 'in.csv', key: 'id' }, output: { path: 'out.csv', delta } });
  const { facts } = await configErrorOf(() => checkFrozenConfig(keyed(false), keyed(true), { id: 'R1' }));
  expect(facts.keys).toBe('output.delta');
});

test('the order of the sent columns is part of what is sent', async () => {
  const one = frozen({ upload: { columns: { a: 'A', b: 'B' } } });
  const other = frozen({ upload: { columns: { b: 'B', a: 'A' } } });
  expect((await configErrorOf(() => checkFrozenConfig(one, other, { id: 'R1' }))).facts.keys).toBe(
    'upload.columns',
  );
});

test('every changed key is named with both values', async () => {
  const now = frozen({ chunks: { maxRecords: 5 }, output: { path: 'out.csv', mode: '0600' } });
  const { message } = await configErrorOf(() => checkFrozenConfig(frozen(), now, { id: 'R1' }));
  expect(message).toContain('\n  chunks.maxRecords: 10000 when it began, 5 now');
  expect(message).toContain('\n  output.mode: "0640" when it began, "0600" now');
});

test('all other values may change, the path of the source too', () => {
  const now = frozen({
    source: { path: 'elsewhere.csv' },
    concurrency: { uploads: 1 },
    poll: { timeout: '1h' },
    service: { baseUrl: SERVICE, token: 'another' },
    reuse: { maxAge: '90d', failedAge: '1d', epoch: '2', maxMiss: '10%' },
  });
  expect(() => checkFrozenConfig(frozen(), now, { id: 'R1' })).not.toThrow();
});

test('a key that only one version of foliopipe has is not compared', () => {
  expect(() =>
    checkFrozenConfig({ ...frozen(), old: '1' }, { ...frozen(), young: '2' }, { id: 'R1' }),
  ).not.toThrow();
});

/** What `--set` needs to be given, and whether the config is then as it was. */
test.each([
  [{ chunks: { maxRecords: 5, maxBytes: '1MB' } }, '--set chunks.maxRecords=5 --set chunks.maxBytes=1048576'],
  [{ chunks: { canary: 'auto' } }, '--set chunks.canary=auto'],
  [{ source: { path: 'in.csv', delimiter: ';' } }, "--set 'source.delimiter=;'"],
  [{ source: { path: 'in.csv', delimiter: '\t' } }, '--set \'source.delimiter="\\t"\''],
  [{ source: { path: 'in.csv', key: 'id' } }, '--set source.key=id'],
  [{ source: { path: 'in.csv', header: ['a', 'b'] } }, '--set \'source.header=["a","b"]\''],
  [{ source: { path: 'in.csv', encoding: 'latin1' } }, '--set source.encoding=latin1'],
  [{ output: { path: "it's.csv" } }, "--set 'output.path=/base/it'\\''s.csv'"],
  [
    { output: { path: 'out.csv', columns: ['a'], mode: '0600' } },
    '--set \'output.columns=["a"]\' --set output.mode=0600',
  ],
  [
    { output: { path: 'out/', maxFileBytes: '1GB' } },
    '--set output.maxFileBytes=1073741824 --set output.path=/base/out/',
  ],
  [{ upload: { columns: { name: 'BusinessName' }, keyColumn: null } }, '--set upload.keyColumn=null'],
  [{ upload: { columns: { name: 'Other' } } }, `--set 'upload.columns={"name":"Other"}'`],
  [{ upload: { columns: { name: 'BusinessName' }, description: '' } }, '--set upload.description='],
  [
    { service: { baseUrl: 'https://other.test', token: 't0ken' } },
    '--set service.baseUrl=https://other.test',
  ],
] as readonly (readonly [Readonly<Record<string, Readonly<Record<string, unknown>>>>, string])[])(
  'the hint gives the flags that restore %j',
  async (sections, flags) => {
    const address = sections.service?.baseUrl as string | undefined;
    const error = await configErrorOf(() =>
      checkFrozenConfig(frozen(sections, address), frozen(), { id: 'R1' }),
    );
    expect(error.hint).toContain(`foliopipe run ${flags}`);
  },
);

test('the hint is to restore values that no flag can give, and does not continue a named run', async () => {
  const changes = [{ upload: { columns: { title: 'Other' } } }, { chunks: { maxRecords: 5 } }];
  const hints = [];
  for (const change of changes) {
    const run = { id: 'R1', isNamed: true };
    const unfinished = await configErrorOf(() => checkFrozenConfig(frozen(change), frozen(), { id: 'R1' }));
    const named = await configErrorOf(() => checkFrozenConfig(frozen(change), frozen(), run));
    expect(named.message).toMatch(/^run R1 began with other values/);
    hints.push(unfinished.hint, named.hint);
  }
  expect(hints).toEqual([
    'restore the old values to continue this run; or begin a new run: foliopipe run --new, which pays again',
    'restore the old values, then run the same command again',
    'to continue this run, give the old values: foliopipe run --set chunks.maxRecords=5; or begin a new run: foliopipe run --new, which pays again',
    'give the old values: the same command with --set chunks.maxRecords=5',
  ]);
});
