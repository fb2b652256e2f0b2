import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { beforeAll, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { loadConfig } from '../../src/config/load-config.js';
import { configSchema } from '../../src/config/schema.js';
import { useSharedFolder } from '../helpers/folders/folders.js';

const root = resolve(import.meta.dirname, '../..');
const env = { FOLIOPIPE_BASE_URL: 'https://predict.example', FOLIOPIPE_TOKEN: 't0ken' };

const newFolder = useSharedFolder();
let folder: string;
beforeAll(async () => {
  folder = await newFolder();
});

const load = (file: string) => loadConfig({ files: [file], env, overrides: [], cwd: root });

async function generate(...flags: string[]): Promise<Buffer> {
  const out = join(folder, 'out.csv');
  await promisify(execFile)('node', [join(root, 'bench/generate.js'), ...flags, '--out', out]);
  return readFile(out);
}

test('the default config is for the sample data and needs nothing else', async () => {
  const config = await load('config/default.yaml');
  expect(config.service.embedded).toBe(true);
  const [first] = parse(await readFile(config.source.path!), { columns: true }) as Record<string, string>[];
  expect(Object.keys(first ?? {})).toEqual(expect.arrayContaining(Object.values(config.upload.columns)));
  expect(config.output.path).toMatch(/out\/enriched\.csv$/);
});

test('the nightly example has every key, each with its default', async () => {
  const written = parseYaml(await readFile(join(root, 'config/nightly.example.yaml'), 'utf8'));
  for (const [section, schema] of Object.entries(configSchema.shape)) {
    expect(written).toHaveProperty(section);
    if (!('shape' in schema)) continue;
    const keys = Object.keys(schema.shape).filter((key) => key !== 'tokenFile');
    expect(Object.keys(written[section])).toEqual(keys);
  }
  const { pipeline, source, upload, service, output } = await load('config/nightly.example.yaml');
  expect(source.path).toBe(join(root, 'config/data/*.csv.gz'));
  const least = {
    pipeline,
    source: { path: source.path },
    upload: { columns: upload.columns },
    service: { baseUrl: service.baseUrl },
    output: { path: output.path },
    stateDir: join(root, 'config/.foliopipe'),
  };
  const overrides = Object.entries(least).map(([key, value]) => ({
    key,
    value,
    baseDir: root,
    origin: 'test',
  }));
  const byDefault = await loadConfig({ files: [], env, overrides, cwd: root });
  const ownFiles = [join(root, 'config/nightly.example.yaml')];
  expect(JSON.stringify(await load('config/nightly.example.yaml'))).toBe(
    JSON.stringify({ ...byDefault, ownFiles }),
  );
});

test.each([
  ['businesses.csv', ['--records', '1000', '--seed', '7']],
  [
    'businesses-semicolon-latin1.csv',
    ['--records', '50', '--seed', '11', '--dialect', 'semicolon-crlf-latin1'],
  ],
])('the generator writes data/%s again, byte by byte', async (name, flags) => {
  expect((await generate(...flags)).equals(await readFile(join(root, 'data', name)))).toBe(true);
});

test('the generator writes whole records of all kinds, and another file for another seed', async () => {
  const zipped = await generate('--records', '2000', '--seed', '3', '--gzip');
  const bytes = gunzipSync(zipped);
  const [header, ...records] = parse(bytes) as string[][];
  expect(header).toHaveLength(7);
  expect(records).toHaveLength(2000);
  expect(records.filter((record) => record[1]?.includes('"')).length).toBeGreaterThan(10);
  expect(records.filter((record) => record[2]?.includes(',')).length).toBeGreaterThan(10);
  expect(records.filter((record) => record[6]?.includes('\n')).length).toBeGreaterThan(10);
  expect(bytes.length / 2000).toBeGreaterThan(70);
  expect(bytes.length / 2000).toBeLessThan(86);
  expect((await generate('--records', '2000', '--seed', '4')).equals(bytes)).toBe(false);
});
