/** config/events.schema.json knows the lines of --json. All tests that read such lines check them (`jsonLines`). */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { jsonLines } from '../helpers/processes/cli.js';

const root = join(import.meta.dirname, '../..');

it('each type of line that the command writes has a definition, and a row in docs/manifest.md', async () => {
  const output = await readFile(join(root, 'src/cli/output.ts'), 'utf8');
  const [, types] = /^type LineType = (.*);$/m.exec(output)!;
  const schema = JSON.parse(await readFile(join(root, 'config/events.schema.json'), 'utf8'));
  const described: string[] = schema.anyOf.flatMap(({ $ref }: { $ref: string }) => {
    const definition = schema.$defs[$ref.replace('#/$defs/', '')];
    const { type } = definition.properties ?? definition.allOf[0].properties;
    return type.enum ?? [type.const];
  });
  const written = types!.split(' | ').map((type) => type.replaceAll("'", ''));
  // The ledger writes its lines page by page.
  expect(new Set(described)).toEqual(new Set([...written, 'upload', 'search']));
  const [, table] = (await readFile(join(root, 'docs/manifest.md'), 'utf8')).split('## What `--json` prints');
  const rows = table!.split('\n\n## ')[0]!.matchAll(/^\| (`.+?) \|/gm);
  const listed = [...rows].flatMap(([, names]) => names!.replaceAll('`', '').split(', '));
  expect(new Set(listed)).toEqual(new Set(described));
});

it.each([
  ['a line of an unknown type', { type: 'surprise' }],
  ['a failure without a hint', { type: 'summary', exitCode: 2, error: { code: 'USAGE', message: 'no' } }],
  ['a summary with a count below zero', { type: 'summary', thisProcess: null, counts: { read: -1 } }],
])('%s is refused', (_, line) => {
  expect(() => jsonLines(JSON.stringify(line))).toThrow(/events/);
});
