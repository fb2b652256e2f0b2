/** The programs of `bench/` and `test/prove/` run too seldom to find out by themselves what is wrong with them. */
import { spawnSync } from 'node:child_process';
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

test('a program with a Postgres server ends with the exit code that it has set', () => {
  const program = "await import('./bench/postgres.js'); process.exitCode = 3;";
  const ended = spawnSync(process.execPath, ['--input-type=module', '-e', program], { cwd: root });
  expect(ended.status).toBe(3);
});

test('every program with options says how it is used, and takes nothing that it does not know', () => {
  const all = [...programs(), ...programs('test/prove'), 'test/check.js'];
  const texts = all.map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }));
  const own = texts.filter(({ text }) => /\bparseArgs\(/.test(text)).map(({ name }) => name);
  expect(own).toEqual(['bench/read-options.js']);
  const reading = texts.filter(({ text }) => text.includes("read-options.js';"));
  expect(reading.length).toBeGreaterThan(15);

  const generate = (...args: string[]) => {
    const options = { cwd: root, encoding: 'utf8' } as const;
    const { status, stdout, stderr } = spawnSync(process.execPath, ['bench/generate.js', ...args], options);
    return { status, stdout, stderr };
  };
  const help = generate('--help');
  expect(help).toMatchObject({ status: 0, stderr: '' });
  expect(help.stdout).toMatch(
    /^usage: node bench\/generate\.js --out FILE .*\ndialects: comma, .*\ncontents: plain,/,
  );
  for (const [args, why] of [
    [['--bogus'], "Unknown option '--bogus'"],
    [['word'], 'not understood: word'],
    [['--records', 'many', '--out', 'x'], '--records many: expected a whole number from 0'],
    [['--records', '', '--out', 'x'], '--records : expected a whole number from 0'],
    [['--dialect', 'tab', '--out', 'x'], 'there is no dialect tab'],
    [[], '--out is missing'],
  ] as const) {
    const refused = generate(...args);
    expect(refused).toMatchObject({ status: 2, stdout: '' });
    expect(refused.stderr).toContain(`${why}\nusage: node bench/generate.js`);
  }
});

function programs(folder = 'bench'): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js') && !name.includes('node_modules'))
    .map((name) => join(folder, name));
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
