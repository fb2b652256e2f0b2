/** The packed package is well formed, and runs with nothing but its dependencies. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { beforeAll, expect, it } from 'vitest';
import { useFolder } from '../../helpers/folders/folders.js';

const root = join(import.meta.dirname, '../../..');

const folderOf = useFolder();

let tarball: Buffer;
beforeAll(async () => {
  const folder = await folderOf();
  const flags = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder];
  execFileSync('npm', flags, { cwd: root, stdio: ['ignore', 'ignore', 'ignore'] });
  const [name] = await readdir(folder);
  tarball = await readFile(join(folder, name!));
});

it('publint finds nothing wrong with the packed package', async () => {
  const { buffer, byteOffset, byteLength } = tarball;
  const packed = buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
  const { messages, pkg } = await publint({ pack: { tarball: packed }, level: 'suggestion', strict: true });
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
});

it('the packed package enriches the sample data without development dependencies', async () => {
  const folder = await folderOf();
  const installed = join(folder, 'node_modules/foliopipe');
  await mkdir(installed, { recursive: true });
  execFileSync('tar', ['xz', '--strip-components=1', '-C', installed], { input: tarball });

  const { dependencies, optionalDependencies, overrides } = JSON.parse(
    await readFile(join(installed, 'package.json'), 'utf8'),
  );
  // Overrides work in a clone only: an installed package would get other versions.
  expect(overrides).toBeUndefined();
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    const link = join(folder, 'node_modules', name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(root, 'node_modules', name), link);
  }

  const cli = join(installed, 'dist/bundle/cli.js');
  const config = join(installed, 'config/default.yaml');
  execFileSync(process.execPath, [cli, 'run', config], { cwd: folder, stdio: 'pipe' });
  expect(await readdir(join(installed, 'out'))).toContain('enriched.csv._REHEARSAL');
  expect(await readdir(join(installed, 'config'))).toContain('manifest.schema.json');

  // Without its optional peer, a format is refused before anything is sent or written.
  const parquet = ['run', config, '--new', '--output', join(folder, 'rows.parquet'), '--json'];
  const refused = spawnSync(process.execPath, [cli, ...parquet], { cwd: folder, encoding: 'utf8' });
  expect(refused.status, refused.stderr).toBe(2);
  expect(refused.stdout).toContain('"code":"DUCKDB_MISSING"');
  expect(refused.stdout + refused.stderr).toContain('npm install @duckdb/node-api');
  expect(await readdir(folder)).not.toContain('rows.parquet.manifest.json');
});
