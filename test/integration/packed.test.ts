/** What `npm pack` takes along runs by itself, beside no more than the packages that it names. */
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { useFolder } from '../helpers/folder.js';

const root = join(import.meta.dirname, '../..');

const folderOf = useFolder();

it('the packed package enriches the sample data, and nothing of the development is needed', async () => {
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
  // Overrides count in a clone alone: whoever installs the package would get something else.
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
