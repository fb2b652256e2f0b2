/** config/schema.json is what the sources give, explains every key, and takes what the config's own check takes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { configJsonSchema } from '../../src/config/json-schema.js';
import { valueKeys } from '../../src/config/known-keys.js';

const folder = join(import.meta.dirname, '../../config');
const read = (name: string) => readFileSync(join(folder, name), 'utf8');
const stored = JSON.parse(read('schema.json')) as Node;

interface Node {
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly anyOf?: readonly Node[];
}

const propertiesOf = (node: Node | undefined) =>
  node?.properties ?? node?.anyOf?.find(({ properties }) => properties !== undefined)?.properties;
const at = (key: readonly string[]) =>
  key.reduce<Node | undefined>((node, part) => propertiesOf(node)?.[part], stored);

describe('config/schema.json', () => {
  it('is up to date: npm run build:schema', () => {
    expect(stored).toEqual(JSON.parse(JSON.stringify(configJsonSchema(read('nightly.example.yaml')))));
  });

  it('says of every key what it takes, and of nearly every one what it is for', () => {
    const texts = valueKeys.map((key) => [key.join('.'), at(key)?.description ?? ''] as const);
    expect(texts.filter(([, text]) => !/Takes .+\.$/.test(text))).toEqual([]);
    const bare = texts.filter(([, text]) => text.startsWith('Takes ')).map(([key]) => key);
    expect(bare.length).toBeLessThan(12);
    expect(at(['failures', 'rescue'])?.description).toMatch(
      /^search: .* each is paid for as a record\n\nTakes /,
    );
    expect(at(['load', 'mode'])?.description).toMatch(/^by source\.key; append: /);
    expect(at(['poll', 'first'])?.default).toBe('1s');
  });

  const schema = z.fromJSONSchema(stored as Parameters<typeof z.fromJSONSchema>[0]);

  it.each(['nightly.example.yaml', 'default.yaml'])('takes %s', (name) => {
    expect(schema.safeParse(parse(read(name))).error?.issues).toBeUndefined();
  });

  it.each([
    ['an unknown key', { chunks: { maxRecord: 5 } }, false],
    ['another type', { chunks: { maxRecords: 'many' } }, false],
    ['another word', { failures: { rescue: 'maybe' } }, false],
    [
      'a variable in any place',
      { chunks: { maxRecords: `\${N}` }, failures: { rescue: `\${R:-none}` } },
      true,
    ],
    ['a part of a config', { load: { mode: 'append' } }, true],
    ['no load', { load: null }, true],
  ])('judges %s', (_, config, isTaken) => {
    expect(schema.safeParse(config).success).toBe(isTaken);
  });
});
