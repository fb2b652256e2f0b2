/** The programs of `bench/` import names that the product exports: they run too seldom to find that out by themselves. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const BUNDLE = 'dist/bundle/index.js';
const LIBRARY = 'pipelines/index.ts';

interface Import {
  readonly program: string;
  /** From the root, in `dist`. */
  readonly target: string;
  readonly names: readonly string[];
}

test('every import of the built product names an export of its source', () => {
  const imports = programs().flatMap(importsOf);
  expect(imports.length).toBeGreaterThan(20);
  const wrong = imports.flatMap(({ program, target, names }) => {
    const source = target === BUNDLE ? LIBRARY : target.replace(/^dist\//, '').replace(/\.js$/, '.ts');
    if (!existsSync(join(root, source))) return [`${program}: there is no ${source}`];
    const text = readFileSync(join(root, source), 'utf8');
    return names
      .filter((name) => !exports(text, name))
      .map((name) => `${program}: ${source} exports no ${name}`);
  });
  expect(wrong).toEqual([]);
});

function programs(): string[] {
  return readdirSync(join(root, 'bench'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js') && !name.includes('node_modules'))
    .map((name) => join('bench', name));
}

function importsOf(program: string): Import[] {
  const text = readFileSync(join(root, program), 'utf8');
  return [...text.matchAll(/^import \{([^}]+)\} from '([^']*\/dist\/[^']+)';$/gm)].map(([, names, path]) => ({
    program,
    target: relative(root, join(root, dirname(program), path!)),
    names: names!
      .split(',')
      .map((name) => name.trim().split(' as ')[0]!)
      .filter((name) => name !== ''),
  }));
}

/** Also of an index, which exports by a list of names. */
function exports(text: string, name: string): boolean {
  const declared = new RegExp(`^export (?:async )?(?:function\\*?|const|class) ${name}\\b`, 'm');
  const listed = new RegExp(`^export \\{[^}]*\\b${name}\\b[^}]*\\}`, 'm');
  return declared.test(text) || listed.test(text) || /^export \* from/m.test(text);
}
