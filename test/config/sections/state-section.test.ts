/** The keys of a state in a database, and that its address is shown without its secrets. */
import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { explainConfig } from '../../../src/config/explain-config.js';
import { parseConfig } from '../../../src/config/load-config.js';
import { secretsOf } from '../../../src/hide-secrets.js';
import { minimalWith, variable } from '../../helpers/config/minimal-config.js';

const url = 'postgres://ann:hunter2@db.test:5433/night?sslmode=require';

it('keeps what a machine can make again in scratchDir, and parts in a shared folder', () => {
  const input = minimalWith({ state: url, files: 'file:///mnt/share/parts', scratchDir: 'scratch' });
  expect(parseConfig(input, '/base')).toMatchObject({
    files: '/mnt/share/parts',
    stateDir: '/base/scratch',
  });
  expect(parseConfig(minimalWith({ state: url }), '/base')).toMatchObject({
    files: null,
    stateDir: '/base/.foliopipe',
  });
});

it('shows the address nowhere with its user, its password or its options', async () => {
  const config = parseConfig(minimalWith({ state: url }), '/base');
  for (const text of [inspect(config), JSON.stringify(config), String(config.state)]) {
    expect(text).toContain('postgres://db.test:5433/night');
    expect(text).not.toMatch(/hunter2|sslmode|ann@|ann:/);
  }
  expect(secretsOf(config)).toEqual(expect.arrayContaining([url, 'hunter2']));
  const options = {
    files: [],
    env: { STATE_URL: url, ...Object.fromEntries(flatKeys) },
    overrides: [{ key: 'state', value: variable('STATE_URL'), baseDir: '/base', origin: '--set' }],
    cwd: '/base',
  };
  const keys = await explainConfig(options, () => null);
  expect(keys.find(({ key }) => key === 'state')).toMatchObject({ value: 'postgres://db.test:5433/night' });
});

/** A minimal config by the environment. */
const flatKeys: readonly (readonly [string, string])[] = [
  ['FOLIOPIPE_PIPELINE', 'nightly'],
  ['FOLIOPIPE_SOURCE__PATH', 'in.csv'],
  ['FOLIOPIPE_UPLOAD__COLUMNS', '{ name: Name }'],
  ['FOLIOPIPE_SERVICE__BASE_URL', 'https://service.test'],
  ['FOLIOPIPE_TOKEN', 'token'],
  ['FOLIOPIPE_OUTPUT__PATH', 'out.csv'],
];
