/** What stands where an output is to be put: refused by what it is, with what to do. */
import { execFileSync } from 'node:child_process';
import { link, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { checkPlace } from '../../src/files/output-place.js';
import { outputNames } from '../../src/run/check/check-output.js';
import { useFolder } from '../helpers/folders/folders.js';

const folder = useFolder();

const check = (output: string, sources: readonly string[] = []) =>
  checkPlace(outputNames(output, '/state'), sources);

/** Puts something under a name; the paths of a folder and of a file in it. */
type Put = (path: string, folder: string) => Promise<unknown> | unknown;
const kinds: Readonly<Record<string, readonly [put: Put, code: string, says: RegExp]>> = {
  'a folder': [(path) => mkdir(path), 'OUTPUT_IS_FOLDER', /is a folder/],
  'a link to a file': [
    async (path, root) => {
      await writeFile(join(root, 'real.csv'), '');
      await symlink('real.csv', path);
    },
    'OUTPUT_NOT_A_FILE',
    /is a link \(to real\.csv\)/,
  ],
  'a link to nothing': [(path) => symlink('nothing', path), 'OUTPUT_NOT_A_FILE', /is a link/],
  'a FIFO': [(path) => execFileSync('mkfifo', [path]), 'OUTPUT_NOT_A_FILE', /is a FIFO/],
};

it.each(Object.entries(kinds))('%s in place of the output is refused', async (_, [put, code, says]) => {
  const root = await folder();
  const output = join(root, 'enriched.csv');
  await put(output, root);
  const before = await readdir(root);
  await expect(check(output)).rejects.toMatchObject({
    code,
    exitCode: 2,
    message: expect.stringMatching(says),
    hint: expect.stringMatching(/./),
    facts: { path: output },
  });
  expect(await readdir(root)).toEqual(before);
});

it.each([
  '.manifest.json',
  '.rejects.csv',
  '.delta.csv',
  '.drift.csv',
  '.key-drift.csv',
  '._SUCCESS',
  '._PARTIAL',
  '._REHEARSAL',
])('something else in place of %s is refused, a file is not', async (end) => {
  const root = await folder();
  const output = join(root, 'enriched.csv');
  await writeFile(`${output}${end}`, '');
  await check(output);
  const other = join(root, 'other.csv');
  await mkdir(`${other}${end}`);
  await expect(check(other)).rejects.toMatchObject({
    code: 'OUTPUT_IS_FOLDER',
    message: `${other}${end} is a folder, and the output needs a file of this name`,
    hint: 'move it away, then run the same command again',
  });
});

const lockEnds = ['', '.json', '.json.partial', '-journal', '-wal', '-shm'];
it.each(lockEnds.flatMap((end) => Object.entries(kinds).map(([kind, is]) => [kind, end, is] as const)))(
  '%s in place of the lock%s is refused, and nothing is made',
  async (_, end, [put, code, says]) => {
    const root = await folder();
    const output = join(root, 'enriched.csv');
    const name = join(root, `.enriched.csv.foliopipe-lock${end}`);
    await put(name, root);
    const before = await readdir(root);
    await expect(check(output)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(says),
      facts: { path: name },
    });
    expect(await readdir(root)).toEqual(before);
  },
);

it('a lock that is another name of the source is refused', async () => {
  const root = await folder();
  const source = join(root, 'source.csv');
  await writeFile(source, '');
  await link(source, join(root, '.enriched.csv.foliopipe-lock.json.partial'));
  const checked = check(join(root, 'enriched.csv'), [source]);
  await expect(checked).rejects.toMatchObject({ code: 'OUTPUT_IS_SOURCE', exitCode: 2 });
});

it('a device is refused', async () => {
  await expect(check('/dev/null')).rejects.toMatchObject({
    code: 'OUTPUT_NOT_A_FILE',
    message: 'output.path /dev/null is a device',
  });
});

it('a socket is refused', async () => {
  const output = join(await folder(), 's');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(output, resolve));
  await expect(check(output)).rejects.toMatchObject({ message: expect.stringContaining('is a socket') });
  await new Promise((resolve) => server.close(resolve));
});

it('a file is no trouble, and nothing is either, though its folder is missing', async () => {
  const root = await folder();
  await writeFile(join(root, 'enriched.csv'), '');
  await writeFile(join(root, 'source.csv'), '');
  await check(join(root, 'enriched.csv'), [join(root, 'source.csv')]);
  await check(join(root, 'not', 'there', 'enriched.csv'), [join(root, 'source.csv')]);
});

it('a name that grows too long beside the output is refused, in bytes and not in letters', async () => {
  const root = await folder();
  await check(join(root, `${'a'.repeat(200)}.csv`));
  await expect(check(join(root, `${'é'.repeat(105)}.csv`))).rejects.toMatchObject({
    code: 'OUTPUT_NAME_TOO_LONG',
    exitCode: 2,
    hint: expect.stringContaining('shorter output.path'),
  });
});

it.each<[string, (root: string) => Promise<string>]>([
  ['by its own name', async (root) => join(root, 'source.csv')],
  [
    'through a link to its folder',
    async (root) => {
      await symlink(root, join(root, 'link'));
      return join(root, 'link', 'source.csv');
    },
  ],
  [
    'by another name of the same file',
    async (root) => {
      await link(join(root, 'source.csv'), join(root, 'twin.csv'));
      return join(root, 'twin.csv');
    },
  ],
])('the source itself is refused, %s', async (_, nameOf) => {
  const root = await folder();
  const source = join(root, 'source.csv');
  await writeFile(source, '');
  await writeFile(join(root, 'first.csv'), '');
  const output = await nameOf(root);
  await expect(check(output, [join(root, 'first.csv'), source])).rejects.toMatchObject({
    code: 'OUTPUT_IS_SOURCE',
    exitCode: 2,
    message: expect.stringContaining(`output.path ${output} is the source itself`),
  });
});

it('a source that would be replaced beside the output is refused', async () => {
  const root = await folder();
  const rejects = join(root, 'enriched.csv.rejects.csv');
  await writeFile(rejects, '');
  await expect(check(join(root, 'enriched.csv'), [rejects])).rejects.toMatchObject({
    code: 'OUTPUT_IS_SOURCE',
    message: `${rejects}, which a publication of the output replaces or removes, is the source itself`,
  });
});

it('a file of another process that goes while it is looked at is in the way of nobody', async () => {
  const output = join(await folder(), 'out.csv');
  const [, lock = ''] = outputNames(output, '/state').lock;
  for (let turns = 0; turns < 60; turns++) {
    await writeFile(lock, '');
    const checking = check(output);
    for (let turn = 0; turn < turns; turn++) await nextTurn();
    await rm(lock);
    await checking;
  }
});
