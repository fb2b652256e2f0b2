/** The lock of an output: one holder, found through links, and nothing left behind. */
import { execFileSync } from 'node:child_process';
import { link, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lockOutput, outputLockPath } from '../../../src/checkpoint/sqlite/output-lock.js';
import { useFolder } from '../../helpers/folders/folders.js';

const folder = useFolder();
const holder = { pid: 4242, command: 'foliopipe run, pipeline first', since: Date.UTC(2026, 0, 2) };

/** A folder `out` and a link to it. */
async function places() {
  const root = await folder();
  await mkdir(join(root, 'out'));
  await symlink('out', join(root, 'link'));
  return { out: join(root, 'out'), output: join(root, 'out', 'o.csv'), linked: join(root, 'link', 'o.csv') };
}

it('is held once, names its holder through a link too, and leaves nothing behind', async () => {
  const { out, output, linked } = await places();
  const first = await lockOutput(output, holder);
  expect(first.kind).toBe('held');
  expect(await lockOutput(linked, { ...holder, pid: 1 })).toEqual({ kind: 'taken', here: true, holder });
  expect((await lockOutput(join(out, 'other.csv'), holder)).kind).toBe('held');
  if (first.kind === 'held') await first.lock.close();
  const second = await lockOutput(linked, holder);
  if (first.kind === 'held') await first.lock.close();
  expect(await lockOutput(output, holder)).toEqual({ kind: 'taken', here: true, holder });
  if (second.kind === 'held') await second.lock.close();
  expect((await readdir(out)).filter((name) => name.startsWith('.o.csv'))).toEqual([]);
});

it('is taken over from a process that was killed, whose files are still there', async () => {
  const { out, output } = await places();
  await writeFile(outputLockPath(output), '');
  await writeFile(`${outputLockPath(output)}.json`, JSON.stringify(holder));
  const locking = await lockOutput(output, { ...holder, pid: 1 });
  expect(locking.kind).toBe('held');
  if (locking.kind === 'held') await locking.lock.close();
  expect(await readdir(out)).toEqual([]);
});

it.each<[string, (name: string, victim: string) => unknown]>([
  ['a link', (name, victim) => symlink(victim, name)],
  ['another name', (name, victim) => link(victim, name)],
  ['a FIFO', (name) => execFileSync('mkfifo', [name])],
])('writes into nothing that another user has put where its holder is written: %s', async (_, put) => {
  const { out, output } = await places();
  const victim = join(out, 'victim');
  await writeFile(victim, 'precious');
  for (const end of ['.json', '.json.partial']) await put(`${outputLockPath(output)}${end}`, victim);
  const locking = await lockOutput(output, holder);
  expect(await lockOutput(output, holder)).toEqual({ kind: 'taken', here: true, holder });
  if (locking.kind === 'held') await locking.lock.close();
  expect(await readFile(victim, 'utf8')).toBe('precious');
  expect(await readdir(out)).toEqual(['victim']);
});

it.each<[string, (name: string) => unknown]>([
  ['a link', (name) => symlink('victim', name)],
  ['a link to nothing', (name) => symlink('nothing', name)],
  ['a FIFO', (name) => execFileSync('mkfifo', [name])],
  ['a folder', (name) => mkdir(name)],
])('is no file, and so the output cannot be locked: %s', async (_, put) => {
  const { out, output } = await places();
  await writeFile(join(out, 'victim'), '');
  await put(outputLockPath(output));
  const before = await readdir(out);
  await expect(lockOutput(output, holder)).rejects.toMatchObject({ code: 'EEXIST' });
  expect(await readdir(out)).toEqual(before);
});

it('does not read the holder from what is no file', async () => {
  const { output } = await places();
  const locking = await lockOutput(output, holder);
  const beside = `${outputLockPath(output)}.json`;
  execFileSync('rm', [beside]);
  execFileSync('mkfifo', [beside]);
  expect(await lockOutput(output, holder)).toEqual({ kind: 'taken', here: true, holder: undefined });
  if (locking.kind === 'held') await locking.lock.close();
});

describe('the file of a held lock that is removed', () => {
  it('is made again by renew, which names a holder again', async () => {
    const { out, output } = await places();
    const locking = await lockOutput(output, holder);
    if (locking.kind !== 'held') throw new Error(locking.kind);
    expect(await locking.lock.renew()).toBeUndefined();
    for (const name of await readdir(out)) await rm(join(out, name));
    expect(await locking.lock.renew()).toBeUndefined();
    expect(await lockOutput(output, holder)).toEqual({ kind: 'taken', here: true, holder });
    await locking.lock.close();
    expect(await readdir(out)).toEqual([]);
  });

  it('is left alone by close when another has made it', async () => {
    const { out, output } = await places();
    const locking = await lockOutput(output, holder);
    await rm(outputLockPath(output));
    await writeFile(outputLockPath(output), 'of another process');
    if (locking.kind === 'held') await locking.lock.close();
    expect((await readdir(out)).length).toBe(2);
  });
});

it('is free although its files cannot be removed', async () => {
  const { output } = await places();
  const beside = `${outputLockPath(output)}.json`;
  const locking = await lockOutput(output, holder);
  await rm(beside);
  await mkdir(beside);
  if (locking.kind !== 'held') throw new Error(locking.kind);
  await expect(locking.lock.close()).rejects.toThrow(/EISDIR|EPERM/);
  const again = await lockOutput(output, holder);
  expect(again.kind).toBe('held');
});

it('is held by one of many that take and free it again and again', async () => {
  const { out, output } = await places();
  let held = 0;
  let times = 0;
  const work = async () => {
    for (let turn = 0; turn < 20; turn++) {
      const locking = await lockOutput(output, holder);
      if (locking.kind !== 'held') continue;
      held += 1;
      expect(held).toBe(1);
      await Promise.resolve();
      held -= 1;
      times += 1;
      await locking.lock.close();
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  expect(times).toBeGreaterThan(0);
  expect(await readdir(out)).toEqual([]);
});
