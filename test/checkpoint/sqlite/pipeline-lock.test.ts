/** What only the lock on the disk can show: files, and processes that are really killed. */
import { once } from 'node:events';
import { mkdir, readdir, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { freeLock, takeLock } from '../../../src/checkpoint/sqlite/lock-file.js';
import { createFileLock, lockedPipelines } from '../../../src/checkpoint/sqlite/pipeline-lock.js';
import { ConfigError, LockedError } from '../../../src/errors.js';
import { hintOf } from '../../../src/hints.js';
import { withFolder } from '../../helpers/folders/folders.js';
import { spawnCheckpointChild } from '../../helpers/processes/spawn-checkpoint-child.js';

const holder = { pid: 4242, command: 'foliopipe run', since: Date.UTC(2026, 0, 2, 3, 4, 5) };

describe('createFileLock', () => {
  it('knows the folder under another name', () =>
    withFolder(async (folder) => {
      await mkdir(join(folder, 'state'));
      await symlink(join(folder, 'state'), join(folder, 'alias'));
      const lock = await createFileLock(join(folder, 'state')).take('nightly', holder);
      const second = createFileLock(join(folder, 'alias')).take('nightly', holder);
      await expect(second).rejects.toThrow(LockedError);
      await lock.close();
    }));

  it('writes files that only their owner may read', () =>
    withFolder(async (folder) => {
      const state = join(folder, 'state');
      const lock = await createFileLock(state).take('nightly', holder);
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
      const lock = await createFileLock(folder).take('nightly', holder);
      expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(holder);
      await writeFile(path, '{"pid":');
      const second = createFileLock(folder).take('nightly', holder);
      await expect(second).rejects.toThrow('this process runs the pipeline nightly');
      await lock.close();
    }));

  it('says that the state folder cannot be written', () =>
    withFolder(async (folder) => {
      await writeFile(join(folder, 'file'), '');
      const refused = await createFileLock(join(folder, 'file'))
        .take('nightly', holder)
        .catch((error) => error);
      expect(refused).toBeInstanceOf(ConfigError);
      expect(refused).toMatchObject({ code: 'STATE_DIR_UNWRITABLE' });
    }));

  it('is held against another process, also after its garbage collection, and free once that is killed', () =>
    withFolder(async (folder) => {
      const child = await spawnCheckpointChild('lock', folder, 'nightly');
      for (let collections = 0; collections < 3; collections++) await child.collect();
      const refused = await createFileLock(folder)
        .take('nightly', holder)
        .catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(LockedError);
      expect(refused).toMatchObject({ facts: { pid: child.pid } });
      await child.kill();
      const lock = await createFileLock(folder).take('nightly', holder);
      await lock.close();
    }));

  it('is held by this process against another one, and against itself, which is told so', () =>
    withFolder(async (folder) => {
      const lock = await createFileLock(folder).take('nightly', holder);
      const own = await createFileLock(folder)
        .take('nightly', holder)
        .catch((error: LockedError) => error);
      expect(own).toMatchObject({
        message: expect.stringMatching(
          /^this process, \d+ \(.*\), has been running the pipeline nightly since/,
        ),
        facts: { here: true },
      });
      expect(hintOf(own as LockedError)).toContain('close the run that this process has open');
      await expect(spawnCheckpointChild('lock', folder, 'nightly')).rejects.toThrow('PIPELINE_LOCKED');
      await lock.close();
    }));

  it('is made again where a cleaner has removed its file, and is held against others then', () =>
    withFolder(async (folder) => {
      const lock = await createFileLock(folder).take('nightly', holder);
      for (const name of await readdir(join(folder, 'locks'))) await rm(join(folder, 'locks', name));
      await lock.expectHeld!();
      await expect(spawnCheckpointChild('lock', folder, 'nightly')).rejects.toThrow('PIPELINE_LOCKED');
      await lock.close();
      expect(await readdir(join(folder, 'locks'))).toEqual(['nightly.lock']);
    }));

  it('is lost where another process has locked a new file meanwhile, whose holder stays named', () =>
    withFolder(async (folder) => {
      const lock = await createFileLock(folder).take('nightly', holder);
      for (const name of await readdir(join(folder, 'locks'))) await rm(join(folder, 'locks', name));
      const other = await spawnCheckpointChild('lock', folder, 'nightly');
      for (let times = 0; times < 2; times++) {
        await expect(lock.expectHeld!()).rejects.toMatchObject({
          code: 'PIPELINE_LOCKED',
          facts: { pid: other.pid },
        });
      }
      await lock.close();
      const second = createFileLock(folder).take('nightly', holder);
      await expect(second).rejects.toMatchObject({ facts: { pid: other.pid } });
      await other.kill();
    }));

  it('says nothing of a state folder that is gone: the checkpoint saves what it knew', () =>
    withFolder(async (folder) => {
      const lock = await createFileLock(folder).take('nightly', holder);
      await rm(join(folder, 'locks'), { recursive: true });
      await lock.expectHeld!();
      await lock.close();
      expect(await readdir(folder)).toEqual([]);
    }));

  it('is not taken for missing where the folder of the locks cannot be read: others may hold them', () =>
    withFolder(async (folder) => {
      expect(lockedPipelines(folder)).toEqual([]);
      await symlink('locks', join(folder, 'locks'));
      expect(() => lockedPipelines(folder)).toThrow('ELOOP');
    }));

  it('is taken although a command looks in this moment whether it is held', () =>
    withFolder(async (folder) => {
      await (await createFileLock(folder).take('nightly', holder)).close();
      const path = await realpath(join(folder, 'locks', 'nightly.lock'));
      const looking = await startLooking(path);
      looking.end();
      expect(takeLock(path)).toBe(true);
      freeLock(path);
      await looking.ended;
    }));
});

/** Another thread that reads the file of a lock, as `isLocked` does, and ends a few milliseconds after it is told so. */
async function startLooking(path: string) {
  const told = new Int32Array(new SharedArrayBuffer(4));
  const driver = createRequire(import.meta.url).resolve('better-sqlite3');
  const code = `
    const { parentPort, workerData: { driver, path, told } } = require('node:worker_threads');
    const connection = new (require(driver))(path, { readonly: true });
    connection.exec('BEGIN');
    connection.prepare('SELECT 1 FROM sqlite_schema').get();
    parentPort.postMessage('looks');
    Atomics.wait(told, 0, 0);
    Atomics.wait(told, 0, 1, 5);
    connection.close();`;
  const worker = new Worker(code, { eval: true, workerData: { driver, path, told } });
  const ended = once(worker, 'exit');
  await once(worker, 'message');
  const end = () => {
    Atomics.store(told, 0, 1);
    Atomics.notify(told, 0);
  };
  return { end, ended };
}
