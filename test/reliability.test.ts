/** docs/reliability.md names tests that exist, and every promise has one. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'docs', 'reliability.md'), 'utf8');

it('names tests that exist', () => {
  const named = [...page.matchAll(/`(test\/[^`]+)`/g)].map(([, path]) => path!);
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

it('has a test for each promise', () => {
  const promises = [...page.matchAll(/^\| ([^|]+)\. \| ([^|]+) \|$/gm)];
  expect(promises.length).toBeGreaterThan(25);
  expect(promises.filter(([, , tests]) => !tests!.includes('`test/')).map(([, promise]) => promise)).toEqual(
    [],
  );
});

it('names proofs that can be run, and tables that are there', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object };
  const proofs = [...page.matchAll(/`npm run (prove:\w+)/g)].map(([, script]) => script!);
  expect(proofs.filter((script) => !(script in scripts))).toEqual([]);
  expect(proofs.length).toBeGreaterThan(3);
  const tables = [...page.matchAll(/\]\(([\w/-]+\.md)\)/g)].map(([, file]) => file!);
  expect(tables.filter((file) => !existsSync(join(root, 'docs', file)))).toEqual([]);
});
