/** Who may write an output, and in which folder. */
import { spawnSync } from 'node:child_process';
import { chmod, chown, link, mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FoliopipeError } from '../../src/errors.js';
import { createLocalOutputStore } from '../../src/files/local-output-store.js';
import { checkRights } from '../../src/files/output-rights.js';
import { hintOf } from '../../src/hints.js';
import { outputNames } from '../../src/run/check/check-output.js';
import { useFolder } from '../helpers/folders/folders.js';

const folder = useFolder();
const isRoot = process.getuid?.() === 0;

describe('a folder that is missing', () => {
  it('is no trouble if it can be made, and a check does not make it', async () => {
    const root = await folder();
    const names = outputNames(join(root, 'a', 'b', 'enriched.csv'), '/state');
    await checkRights(names);
    expect(await readdir(root)).toEqual([]);
    await createLocalOutputStore().prepare(names);
    expect(await readdir(join(root, 'a', 'b'))).toEqual([]);
  });

  it.each<[string, (root: string) => Promise<unknown>, RegExp]>([
    ['below a file', (root) => writeFile(join(root, 'a'), ''), /a is not a folder/],
    ['behind a link to nothing', (root) => symlink('nowhere', join(root, 'a')), /a is a link to nothing/],
    ['behind a link to itself', (root) => symlink('a', join(root, 'a')), /ELOOP/],
  ])('%s is refused', async (_, put, says) => {
    const root = await folder();
    await put(root);
    const names = outputNames(join(root, 'a', 'b', 'enriched.csv'), '/state');
    const hint = 'name another folder with output.path (--output), then run the same command again';
    const refusal = { code: 'FOLDER_UNWRITABLE', exitCode: 2, message: expect.stringMatching(says) };
    const store = createLocalOutputStore();
    for (const check of [() => checkRights(names), () => store.prepare(names)]) {
      const error = await check().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject(refusal);
      expect(hintOf(error as FoliopipeError)).toBe(hint);
    }
  });

  it.skipIf(process.platform !== 'linux')('where the system makes none is refused at once', async () => {
    const prepared = createLocalOutputStore().prepare(outputNames('/proc/foliopipe/enriched.csv', '/state'));
    const error = await prepared.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'FOLDER_UNWRITABLE', exitCode: 2 });
    // The system tells other users that they lack the right.
    if (isRoot) expect(hintOf(error as FoliopipeError)).not.toMatch(/let this user/);
  });

  it('whose name is too long is refused, and so is a name of a file in it', async () => {
    const root = await folder();
    for (const path of [join('f'.repeat(300), 'enriched.csv'), join('f', `${'e'.repeat(240)}.csv`)]) {
      const checked = checkRights(outputNames(join(root, path), '/state'));
      await expect(checked).rejects.toMatchObject({ code: 'OUTPUT_NAME_TOO_LONG', exitCode: 2 });
    }
  });
});

it.each(['', '.json', '.json.partial', '-journal'])(
  'a lock%s of another user, or with another name, is refused, for root too',
  async (end) => {
    const root = await folder();
    const names = outputNames(join(root, 'enriched.csv'), '/state');
    const lock = join(root, `.enriched.csv.foliopipe-lock${end}`);
    await writeFile(lock, '');
    const { uid } = await stat(lock);
    await checkRights(names, uid);
    const refusal = { code: 'OUTPUT_LOCK_FAILED', exitCode: 2, facts: { path: lock, owner: uid } };
    await expect(checkRights(names, uid === 0 ? 12_345 : 0)).rejects.toMatchObject({
      ...refusal,
      message: expect.stringContaining(`belongs to another user (uid ${uid})`),
    });
    await link(lock, join(root, 'twin'));
    await expect(checkRights(names, uid)).rejects.toMatchObject({
      ...refusal,
      message: expect.stringContaining('has other names too'),
    });
  },
);

it.skipIf(isRoot)('a folder without the right to write is refused', async () => {
  const root = join(await folder(), 'out');
  await mkdir(root, { mode: 0o500 });
  const checked = checkRights(outputNames(join(root, 'enriched.csv'), '/state'));
  await expect(checked).rejects.toMatchObject({ code: 'FOLDER_UNWRITABLE', message: /EACCES/ });
});

/** Whether files of this folder can be made immutable, which takes root and a disk that knows it. */
function makeImmutable(path: string): boolean {
  return spawnSync('chattr', ['+i', path]).status === 0;
}

it('an immutable file is refused', async ({ skip }) => {
  const manifest = join(await folder(), 'enriched.csv.manifest.json');
  await writeFile(manifest, '');
  skip(!makeImmutable(manifest), 'no file can be made immutable here');
  const checked = checkRights(outputNames(join(await folder(), 'enriched.csv'), '/state'));
  const error = await checked.catch((found: unknown) => found);
  spawnSync('chattr', ['-i', manifest]);
  expect(error).toMatchObject({ code: 'OUTPUT_NOT_REPLACED', exitCode: 2, facts: { path: manifest } });
});

describe('a sticky folder of another user', () => {
  const someone = 12_345;

  /** A sticky folder with one file. @returns the output's path, and the owner of folder and file. */
  async function sticky(end: string, mode = 0o1777) {
    const root = join(await folder(), 'shared');
    await mkdir(root);
    await chmod(root, mode);
    const output = join(root, 'enriched.csv');
    await writeFile(`${output}${end}`, '');
    return { root, output, owner: (await stat(root)).uid };
  }

  it.each(['', '.manifest.json', '._SUCCESS'])(
    'with a file enriched.csv%s of that user is refused',
    async (end) => {
      const { root, output, owner } = await sticky(end);
      await expect(checkRights(outputNames(output, '/state'), someone)).rejects.toMatchObject({
        code: 'OUTPUT_OF_OTHER_USER',
        exitCode: 2,
        message: `${output}${end} belongs to another user (uid ${owner}), and ${root} is sticky: only that user can replace it`,
        facts: { path: `${output}${end}`, owner, user: someone },
      });
    },
  );

  it('with other files is no trouble', async () => {
    const { output } = await sticky('-of-another-name');
    await checkRights(outputNames(output, '/state'), someone);
  });

  it('is no trouble for its owner and for root', async () => {
    const { output, owner } = await sticky('');
    await checkRights(outputNames(output, '/state'), owner);
    await checkRights(outputNames(output, '/state'), 0);
  });

  it('is no trouble without the sticky bit', async () => {
    const { output } = await sticky('', 0o777);
    await checkRights(outputNames(output, '/state'), someone);
  });

  it.runIf(isRoot)('with a file of this user is no trouble', async () => {
    const { output } = await sticky('');
    await chown(output, someone, someone);
    await checkRights(outputNames(output, '/state'), someone);
  });
});
