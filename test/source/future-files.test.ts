/** Files that do not exist yet, and the patterns that would match them. */
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { futureMatches } from '../../src/source/future-files.js';
import { useFolder } from '../helpers/folders/folders.js';

const folder = useFolder();

/** A folder `data` with a file, a folder `data/in` with one, and a link `link` to `data`. */
async function disk(): Promise<string> {
  const root = await folder();
  await mkdir(join(root, 'data', 'in'), { recursive: true });
  for (const name of ['a.csv', 'in/b.csv']) await writeFile(join(root, 'data', name), '');
  await symlink(join(root, 'data'), join(root, 'link'));
  return root;
}

it.each<[string, string, boolean]>([
  ['data/*.csv', 'data/out.csv', true],
  ['data/*.csv', 'data/out.txt', false],
  ['data/*.csv', 'data/.out.csv', true],
  ['data/*.csv', 'data/in/out.csv', false],
  ['data/**/*.csv', 'data/in/out.csv', true],
  ['data/**/*.csv', 'data/not/there/out.csv', true],
  ['data/*/*.csv', 'data/not/there/out.csv', false],
  ['data/*.csv', 'link/out.csv', true],
  ['link/*.csv', 'data/out.csv', true],
  ['link/**/*.csv', 'data/not/out.csv', true],
  ['data/{a,out}.csv', 'data/out.csv', true],
  ['data/[!o]*.csv', 'data/out.csv', false],
  ['nowhere/*.csv', 'nowhere/out.csv', true],
  ['nowhere/*.csv', 'data/out.csv', false],
])('%s and %s: %s', async (pattern, name, isMatched) => {
  const root = await disk();
  const found = await futureMatches(join(root, pattern), [join(root, name)]);
  expect(found).toEqual(isMatched ? [join(root, name)] : []);
});

it('gives only the names that are matched, in their order, also those that exist', async () => {
  const root = await disk();
  const names = ['data/z.csv', 'data/z.json', 'data/a.csv', 'out/a.csv'].map((name) => join(root, name));
  expect(await futureMatches(join(root, 'data/*.csv'), names)).toEqual([names[0], names[2]]);
});

it('reads a name with brackets as a name, and not as a pattern', async () => {
  const root = await disk();
  const name = join(root, 'data', '[out].csv');
  expect(await futureMatches(join(root, 'data/*.csv'), [name])).toEqual([name]);
});
