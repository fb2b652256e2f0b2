/** The first config gives back what it was written from. */
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { configText } from '../../../src/cli/init/config-text.js';

it.each([
  '.5',
  '.inf',
  '.NaN',
  '~',
  'yes',
  '1_000',
  '0x1F',
  '2026-11-23',
  'a: b',
  '#c',
  'null',
  'Name',
  '.e1',
])('a column named %s is read as this text', (name) => {
  const config = {
    pipeline: 'p',
    source: 'a.csv',
    found: undefined,
    format: {},
    columns: { name },
    baseUrl: undefined,
    output: 'out.csv',
    schema: 's',
    isExample: false,
  };
  for (const version of ['1.1', '1.2'] as const) {
    expect(parse(configText(config), { version }).upload.columns).toEqual({ name });
  }
});
