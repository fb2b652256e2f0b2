/** Nothing of a state in Postgres is loaded for a state in files. */
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');

/** All files that a file imports at once, with those that they import. `import()` and `import type` load nothing. */
function loadedBy(file: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(file)) return loaded;
  loaded.add(file);
  const text = readFileSync(join(root, file), 'utf8');
  for (const [, type, named, from] of text.matchAll(
    /^(?:import|export)\s+(type\s)?(\{[^}]*\}|[^'{]*?)\s*from\s+'(\.[^']+)'/gm,
  )) {
    const names = named!
      .replace(/[{}]/g, '')
      .split(',')
      .filter((name) => name.trim() !== '');
    const isTypeOnly = type !== undefined || names.every((name) => name.trim().startsWith('type '));
    if (!isTypeOnly) loadedBy(normalize(join(dirname(file), from!.replace(/\.js$/, '.ts'))), loaded);
  }
  return loaded;
}

it.each(['src/cli.ts', 'src/cli/commands/run.ts', 'pipelines/index.ts'])('%s loads none of it', (entry) => {
  const loaded = [...loadedBy(entry)];
  // The walk finds what is loaded.
  expect(loaded).toContain(entry);
  const ofPostgres = /^src\/(?:checkpoint|files)\/postgres\/|^src\/postgres\/(?:session|statement|fenced)/;
  expect(loaded.filter((file) => ofPostgres.test(file))).toEqual([]);
});

it('finds what is loaded by others', () => {
  const loaded = [...loadedBy('pipelines/index.ts')];
  expect(loaded).toContain('src/run/state-reader.ts');
  expect(loaded).toContain('src/checkpoint/sqlite/open-sqlite-checkpoint.ts');
});
