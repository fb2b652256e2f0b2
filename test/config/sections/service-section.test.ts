import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format, inspect } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { parseConfig } from '../../../src/config/load-config.js';
import { Secret } from '../../../src/config/sections/service-section.js';
import { configErrorOf, minimalWith } from '../../helpers/config/minimal-config.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';

const newFolder = useSharedFolder();
let folder: string;
beforeAll(async () => {
  folder = await newFolder();
});

const baseUrl = 'https://predict.example';

function parseService(service: unknown) {
  return parseConfig(minimalWith({ service }), folder).service;
}

async function problemOf(service: unknown, key: string): Promise<unknown> {
  return (await configErrorOf(() => parseService(service))).facts[key];
}

test.each([
  ['https://predict.example/', 'https://predict.example'],
  ['HTTPS://Predict.Example:443/api//', 'https://predict.example/api'],
  ['http://localhost:8080', 'http://localhost:8080'],
  ['http://127.0.0.9:1/x/', 'http://127.0.0.9:1/x'],
  ['http://[::1]:8080', 'http://[::1]:8080'],
])('the address %s is kept as %s', (written, kept) => {
  expect(parseService({ baseUrl: written, token: 't' }).baseUrl).toBe(kept);
});

test.each([
  ['http://predict.example', 'unencrypted'],
  ['http://localhost.evil.example', 'unencrypted'],
  ['http://127.0.0.1.evil.example', 'unencrypted'],
  ['predict.example', 'expected an https:// address'],
  ['https://predict.example?x=1', 'expected an https:// address'],
  ['https://predict.example/#x', 'expected an https:// address'],
  [5, 'expected an https:// address'],
])('the address %s is refused', async (written, text) => {
  expect(await problemOf({ baseUrl: written, token: 't' }, 'service.baseUrl')).toContain(text);
});

test.each(['predictions', 'v2.predict.example', 'A_1-b'])('the name %s is kept', (name) => {
  expect(parseService({ name, baseUrl, token: 't' }).name).toBe(name);
  expect(parseService({ name, embedded: true }).name).toBe(name);
});

test.each(['https://predict.example', 'embedded:/data', 'a/b', 'two words', '', ' a', 'n'.repeat(65), 7])(
  'the name %j is refused: it could be an address, or be misread',
  async (name) => {
    const problem = await problemOf({ name, baseUrl, token: 't' }, 'service.name');
    expect(problem).toContain('expected null, or a name of 1 to 64 letters, digits, dots');
  },
);

test('a real service needs an address and a token', async () => {
  const { facts } = await configErrorOf(() => parseService({}));
  expect(Object.keys(facts)).toEqual(['service.baseUrl', 'service.token']);
});

test('the embedded service needs neither, and looks at neither', () => {
  const service = parseService({ embedded: true, baseUrl: 'nonsense', tokenFile: '/no/such/file' });
  expect(service).toMatchObject({ embedded: true, baseUrl: null, legacyBaseUrl: null, token: null });
});

test('the token may be in a file, and is read without the space around it', async () => {
  await writeFile(join(folder, 'token'), ' from-file\n');
  const service = parseService({ baseUrl, tokenFile: 'token' });
  expect(service.token?.reveal()).toBe('from-file');
  expect(await problemOf({ baseUrl, tokenFile: 'token', token: 't' }, 'service.tokenFile')).toContain(
    'one of them',
  );
});

test('a token file that is missing, empty or holds more than a token is a problem', async () => {
  await writeFile(join(folder, 'two'), 'first-t0ken\nsecond-t0ken\n');
  await writeFile(join(folder, 'empty'), '\n');
  expect(await problemOf({ baseUrl, tokenFile: 'none' }, 'service.tokenFile')).toContain(
    'none cannot be read: there is no such file',
  );
  expect(await problemOf({ baseUrl, tokenFile: 'empty' }, 'service.tokenFile')).toContain(
    'must hold one token',
  );
  const two = await problemOf({ baseUrl, tokenFile: 'two' }, 'service.tokenFile');
  expect(two).toContain('must hold one token');
  expect(two).not.toContain('t0ken');
});

test.each([
  ['a bad token', { baseUrl, token: 'hun ter2' }],
  ['a token in place of the section', 'hunter2'],
  ['a token under a name that is not known', { baseUrl, tokn: 'hunter2' }],
  ['a password in the address', { baseUrl: 'https://me:hunter2@predict.example', token: 't' }],
  ['a token in the address', { baseUrl: 'https://predict.example?token=hunter2', token: 't' }],
])('no secret stands in the error: %s', async (_, service) => {
  const error = await configErrorOf(() => parseService(service));
  expect(inspect(error, { depth: 9 }).replace(/^ {4}at .*$/gm, '')).not.toMatch(/hunter2|ter2/);
});

test('no secret is in the printed config', () => {
  const config = parseConfig(minimalWith({ service: { baseUrl, token: 'hunter2' } }), folder);
  expect(`${inspect(config, { depth: 9, showHidden: true })}${JSON.stringify(config)}`).not.toContain(
    'hunter2',
  );
});

const secret = new Secret('hunter2');

test('a secret is revealed on request', () => {
  expect(secret.reveal()).toBe('hunter2');
});

test.each([
  ['template literal', `${secret}`],
  ['String()', String(secret)],
  ['joined to a text', ['a', secret].join()],
  ['JSON', JSON.stringify({ token: secret })],
  ['util.inspect', inspect({ deep: { token: secret } }, { depth: 9, showHidden: true })],
  ['util.format', format('%s %o %j', secret, secret, secret)],
  ['own properties', JSON.stringify(Object.entries(secret))],
])('a secret is not shown by %s', (_, text) => {
  expect(text).not.toContain('hunter2');
});
