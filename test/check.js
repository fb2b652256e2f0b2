/**
 * The quick check while you work: types, lint, and the tests in the folders of what changed.
 * npm run check [-- --since main]
 * Without `--since`: what is not committed. `test/` repeats the folders of `src/`, so a change in src/stages/submit runs
 * the tests in test/stages/submit, not every test that imports the file: those can take minutes (`npm test`).
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readOptions } from '../bench/read-options.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = readOptions('npm run check [-- --since COMMIT]', {
  since: { type: 'string', default: 'HEAD' },
});
const changed = changedSince(values.since);
const ALWAYS = ['test/architecture.test.ts', 'test/docs.errors.test.ts', 'test/error-codes.test.ts'];
const tests = new Set([...ALWAYS, ...changed.flatMap(testsOf)]);
const linted = changed.filter((file) => /\.(?:[jt]s|json)$/.test(file));

console.log(`${changed.length} files changed; ${tests.size} test files`);
const cache = 'node_modules/.cache/check.tsbuildinfo';
const codes = await Promise.all([
  run('tsc', ['--noEmit', '--incremental', '--tsBuildInfoFile', cache]),
  linted.length === 0 ? 0 : run('biome', ['check', '--no-errors-on-unmatched', ...linted]),
  run('vitest', ['run', ...tests]),
]);
process.exitCode = Math.max(...codes);

/** Files that differ from a commit, new ones included, removed ones left out. */
function changedSince(commit) {
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n');
  const names = [
    ...git('diff', '--name-only', '--diff-filter=d', commit),
    ...git('ls-files', '--others', '--exclude-standard'),
  ];
  return names.filter((name) => name !== '');
}

function testsOf(file) {
  if (file.startsWith('test/') && file.endsWith('.test.ts')) return [file];
  if (file.endsWith('.md')) return ['test/docs.test.ts', 'test/reliability.test.ts'];
  return file.startsWith('src/') ? testsIn(join('test', dirname(file).slice('src/'.length))) : [];
}

/** The tests of a folder, or of the nearest one above it that has tests. */
function testsIn(folder) {
  if (folder === 'test' || folder === '.') return [];
  const found = testFilesIn(folder);
  return found.length === 0 ? testsIn(dirname(folder)) : found;
}

/** Includes folders that `src/` does not have: they hold the tests of one file. */
function testFilesIn(folder) {
  const path = join(root, folder);
  return (existsSync(path) ? readdirSync(path, { withFileTypes: true }) : []).flatMap((entry) => {
    const name = join(folder, entry.name);
    if (entry.isDirectory())
      return existsSync(join(root, name.replace('test', 'src'))) ? [] : testFilesIn(name);
    return name.endsWith('.test.ts') ? [name] : [];
  });
}

/** Runs a program of node_modules and prints what it says when it has ended. */
function run(program, args) {
  return new Promise((resolve) => {
    const child = spawn(join(root, 'node_modules/.bin', program), args, { cwd: root });
    const pieces = [];
    child.stdout.on('data', (piece) => pieces.push(piece));
    child.stderr.on('data', (piece) => pieces.push(piece));
    child.on('close', (code) => {
      process.stdout.write(Buffer.concat(pieces));
      console.log(`${program}: ${code === 0 ? 'ok' : 'failed'}`);
      resolve(code ?? 1);
    });
  });
}
