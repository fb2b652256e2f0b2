/** The packed package runs with nothing but its dependencies. */
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { useFolder } from '../../helpers/folders/folders.js';

const root = join(import.meta.dirname, '../../..');

const folderOf = useFolder();

it('the packed package enriches the sample data without development dependencies', async () => {
  const folder = await folderOf();
  const pack = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder];
  execFileSync('npm', pack, { cwd: root, stdio: ['ignore', 'ignore', 'ignore'] });
  const [tarball] = await readdir(folder);
  const installed = join(folder, 'node_modules/foliopipe');
  await mkdir(installed, { recursive: true });
  execFileSync('tar', ['xzf', join(folder, tarball!), '--strip-components=1', '-C', installed]);

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
});
