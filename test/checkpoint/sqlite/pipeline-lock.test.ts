/** Law 12, with real processes that are really killed. */
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openPipelineLock } from '../../../src/checkpoint/sqlite/pipeline-lock.js';
import { ConfigError, LockedError } from '../../../src/errors.js';
import { withFolder } from '../../helpers/checkpoint-samples.js';
import { spawnCheckpointChild } from '../../helpers/spawn-checkpoint-child.js';

const holder = { pid: 4242, command: 'foliopipe run', since: Date.UTC(2026, 0, 2, 3, 4, 5) };

describe('openPipelineLock', () => {
  it('refuses a second lock in this process, naming the holder', () =>
    withFolder(async (folder) => {
      const lock = await openPipelineLock(folder, 'nightly', holder);
      const second = await openPipelineLock(folder, 'nightly', holder).catch((error: unknown) => error);
      expect(second).toBeInstanceOf(LockedError);
      expect(second).toMatchObject({
        code: 'PIPELINE_LOCKED',
        exitCode: 11,
        facts: { pipeline: 'nightly', pid: 4242, since: '2026-01-02T03:04:05.000Z' },
      });
      expect(String(second)).toMatch(/4242.*foliopipe run.*nightly.*2026-01-02T03:04:05/);
      await lock.close();
    }));

  it('gives the lock to one of many that ask at once', () =>
    withFolder(async (folder) => {
      const asked = Array.from({ length: 8 }, () => openPipelineLock(folder, 'nightly', holder));
      const answers = await Promise.allSettled(asked);
      expect(answers.filter((answer) => answer.status === 'fulfilled')).toHaveLength(1);
    }));

  it('knows the folder under another name', () =>
    withFolder(async (folder) => {
      await mkdir(join(folder, 'state'));
      await symlink(join(folder, 'state'), join(folder, 'alias'));
      const lock = await openPipelineLock(join(folder, 'state'), 'nightly', holder);
      const second = openPipelineLock(join(folder, 'alias'), 'nightly', holder);
      await expect(second).rejects.toThrow(LockedError);
      await lock.close();
    }));

  it('is free after close, and closing twice does not free the lock of the next', () =>
    withFolder(async (folder) => {
      const first = await openPipelineLock(folder, 'nightly', holder);
      await first.close();
      const second = await openPipelineLock(folder, 'nightly', holder);
      await first.close();
      await expect(openPipelineLock(folder, 'nightly', holder)).rejects.toThrow(LockedError);
      await second.close();
    }));

  it('leaves the locks of other pipelines alone', () =>
    withFolder(async (folder) => {
      const one = await openPipelineLock(folder, 'nightly', holder);
      const other = await openPipelineLock(folder, 'weekly', holder);
      await one.close();
      await other.close();
    }));

  it('writes files that only their owner may read', () =>
    withFolder(async (folder) => {
      const state = join(folder, 'state');
      const lock = await openPipelineLock(state, 'nightly', holder);
      const mode = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
      expect(await mode(state)).toBe('700');
      expect(await mode(join(state, 'locks'))).toBe('700');
      const names = await readdir(join(state, 'locks'));
      expect(names).toEqual(expect.arrayContaining(['nightly.holder.json', 'nightly.lock']));
      for (const name of names) expect(await mode(join(state, 'locks', name))).toBe('600');
      await lock.close();
    }));

  it('does not believe a holder file without a lock, and survives a broken one', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'locks', 'nightly.holder.json');
      await mkdir(join(folder, 'locks'));
      await writeFile(path, JSON.stringify({ ...holder, pid: 1 }));
      const lock = await openPipelineLock(folder, 'nightly', holder);
      expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(holder);
      await writeFile(path, '{"pid":');
      const second = openPipelineLock(folder, 'nightly', holder);
      await expect(second).rejects.toThrow('another process runs the pipeline nightly');
      await lock.close();
    }));

  it('says that the state folder cannot be written', () =>
    withFolder(async (folder) => {
      await writeFile(join(folder, 'file'), '');
      const refused = await openPipelineLock(join(folder, 'file'), 'nightly', holder).catch((error) => error);
      expect(refused).toBeInstanceOf(ConfigError);
      expect(refused).toMatchObject({ code: 'STATE_DIR_UNWRITABLE' });
    }));

  it('is held against another process, also after its garbage collection, and free once that is killed', () =>
    withFolder(async (folder) => {
      const child = await spawnCheckpointChild('lock', folder, 'nightly');
      for (let collections = 0; collections < 3; collections++) await child.collect();
      const refused = await openPipelineLock(folder, 'nightly', holder).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(LockedError);
      expect(refused).toMatchObject({ facts: { pid: child.pid } });
      await child.kill();
      const lock = await openPipelineLock(folder, 'nightly', holder);
      await lock.close();
    }));

  it('is held by this process against another one', () =>
    withFolder(async (folder) => {
      const lock = await openPipelineLock(folder, 'nightly', holder);
      await expect(spawnCheckpointChild('lock', folder, 'nightly')).rejects.toThrow('PIPELINE_LOCKED');
      await lock.close();
    }));
});
