/** Every hidden text of a config is hidden wherever its key or its value could be shown. */
import { expect, it } from 'vitest';
import { parseConfig } from '../src/config/load-config.js';
import { HiddenText } from '../src/config/sections/hidden-text.js';
import { secretKindOf, secretsOf } from '../src/hide-secrets.js';
import { minimalWith } from './helpers/config/minimal-config.js';

const database = 'postgres://user:hunter2@host/db';
const config = parseConfig(
  minimalWith({
    service: { baseUrl: 'https://predict.example', token: 'tok-secret' },
    source: { query: { database, sql: "SELECT 'in-the-sql'" } },
    load: { into: database, table: 't', mode: 'append' },
    report: { webhook: 'https://hook.example/in-the-path' },
    state: database,
  }),
  '/base',
);

/** The keys of all hidden texts, however deep. */
function hiddenKeys(value: unknown, key: readonly string[] = []): string[] {
  if (value instanceof HiddenText) return [key.join('.')];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => hiddenKeys(inner, [...key, name]));
}

it('each hidden text of a config has a kind of secret', () => {
  const keys = hiddenKeys(config);
  expect(keys).toContain('service.token');
  expect(keys.filter((key) => secretKindOf(key) === undefined)).toEqual([]);
});

it('the secrets of a config are those of all its keys', () => {
  const shown = JSON.stringify(secretsOf(config));
  for (const secret of ['tok-secret', 'hunter2', 'in-the-sql', 'in-the-path'])
    expect(shown).toContain(secret);
  expect(shown).not.toContain('null');
});
