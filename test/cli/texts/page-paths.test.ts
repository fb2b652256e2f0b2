/** Pages that a text names are there where the text says. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { withPagePaths } from '../../../src/cli/texts/page-paths.js';

const text = 'correct it; config/nightly.example.yaml explains every key, and docs/faults.md each fault';

it('leaves the pages of a clone as they are', () => {
  expect(withPagePaths(text, '/home/me/foliopipe', '/home/me/foliopipe')).toBe(text);
});

it('leads into node_modules of the project, once', () => {
  const shown = withPagePaths(text, '/srv/job/node_modules/foliopipe', '/srv/job');
  expect(shown).toBe(
    'correct it; node_modules/foliopipe/config/nightly.example.yaml explains every key, and node_modules/foliopipe/docs/faults.md each fault',
  );
  expect(withPagePaths(shown, '/srv/job/node_modules/foliopipe', '/srv/job')).toBe(shown);
  expect(withPagePaths('see docs/faults.md', '/srv/job/node_modules/foliopipe', '/srv/job/out')).toBe(
    'see ../node_modules/foliopipe/docs/faults.md',
  );
});

it('gives the whole path of a package that is installed elsewhere', () => {
  expect(withPagePaths('see docs/faults.md', '/usr/lib/node_modules/foliopipe', '/srv/job/night')).toBe(
    'see /usr/lib/node_modules/foliopipe/docs/faults.md',
  );
});

it('gives the whole path in the root folder, in which a service of systemd works: its log is read elsewhere', () => {
  expect(withPagePaths('see docs/faults.md', '/opt/job/node_modules/foliopipe', '/')).toBe(
    'see /opt/job/node_modules/foliopipe/docs/faults.md',
  );
});

it('leaves files of the user with a similar name alone', () => {
  const own = '/srv/docs/faults.md, my-docs/faults.md and config/nightly.yaml';
  expect(withPagePaths(own, '/srv/job/node_modules/foliopipe', '/srv/job')).toBe(own);
});

it('every page that a text of the sources names is in the package', () => {
  const root = join(import.meta.dirname, '../../..');
  const files = ['src', 'pipelines'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(root, folder, name), 'utf8')),
  );
  const named = files.flatMap(
    (source) => source.match(/\b(?:docs\/[a-z-]+\.md|config\/[a-z.]+\.yaml)/g) ?? [],
  );
  expect(named.length).toBeGreaterThan(10);
  const inPackage = (name: string) => withPagePaths(name, '/node_modules/foliopipe', '/') !== name;
  const missing = named.filter((name) => {
    readFileSync(join(root, name));
    return !inPackage(name);
  });
  expect(missing).toEqual([]);
});
