/** What only the SQLite behind the port can show: files, processes, kills, damage. */
import { mkdir, open, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  openCheckpointReader,
  openSqliteCheckpoint,
} from '../../../src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import { openSqlite } from '../../../src/sqlite-driver.js';
import { addChunk } from '../../helpers/checkpoint/advance-chunk.js';
import { sampleChunk, sampleHalves, sampleRun } from '../../helpers/checkpoint/samples.js';
import { withFolder } from '../../helpers/folders/folders.js';
import { spawnCheckpointChild } from '../../helpers/processes/spawn-checkpoint-child.js';

describe('openSqliteCheckpoint', () => {
  it('makes files that only their owner may read', () =>
    withFolder(async (folder) => {
      const state = join(folder, 'deep', 'state');
      const checkpoint = await openSqliteCheckpoint(state);
      const mode = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
      expect(await mode(state)).toBe('700');
      const names = await readdir(state);
      expect(names).toContain('checkpoint.db-wal');
      for (const name of names) expect(await mode(join(state, name))).toBe('600');
      await checkpoint.close();
    }));

  it('finds everything again after closing', () =>
    withFolder(async (folder) => {
      const first = await openSqliteCheckpoint(folder);
      await first.recordRun(sampleRun('r1'));
      await addChunk(first, 'r1', 1, 'downloaded');
      const before = [await first.run('r1'), await first.chunk('r1', 1), await first.uploads('r1', 0, 9)];
      await first.close();
      const second = await openSqliteCheckpoint(folder);
      const after = [await second.run('r1'), await second.chunk('r1', 1), await second.uploads('r1', 0, 9)];
      expect(after).toEqual(before);
      await second.close();
    }));

  it('ends a second close as the first, and leaves nothing behind', () =>
    withFolder(async (folder) => {
      const checkpoint = await openSqliteCheckpoint(folder);
      await Promise.all([checkpoint.close(), checkpoint.close()]);
      const names = await readdir(folder);
      await checkpoint.close();
      expect(await readdir(folder)).toEqual(names);
    }));

  it('reads the source of a run again after another process has changed it', () =>
    withFolder(async (folder) => {
      const checkpoint = await openSqliteCheckpoint(folder);
      await checkpoint.recordRun(sampleRun('r1'));
      const stampOf = async () => (await checkpoint.run('r1'))!.source.files[0]!.stamp;
      const before = await stampOf();
      const other = openSqlite(join(folder, 'checkpoint.db'));
      other.exec(`UPDATE runs SET source = json_set(source, '$.files[0].stamp', '${before}-new')`);
      other.close();
      expect(await stampOf()).toBe(`${before}-new`);
      expect(await stampOf()).toBe(`${before}-new`);
      await checkpoint.close();
    }));

  it('keeps every change that was resolved when the process is killed', () =>
    withFolder(async (folder) => {
      const child = await spawnCheckpointChild('write', folder, 'r1', '20');
      await child.kill();
      const reader = await openCheckpointReader(folder);
      expect((await reader?.lastCut('r1', 0))?.number).toBe(20);
      await reader?.close();
      const checkpoint = await openSqliteCheckpoint(folder);
      expect((await checkpoint.tally('r1')).chunks.cut).toBe(20);
      await checkpoint.close();
    }));

  it('is made and written by several processes at once', () =>
    withFolder(async (folder) => {
      const runs = ['r1', 'r2', 'r3', 'r4'];
      const children = await Promise.all(runs.map((run) => spawnCheckpointChild('write', folder, run, '50')));
      for (const child of children) await child.kill();
      const reader = await openCheckpointReader(folder);
      for (const run of runs) expect((await reader?.tally(run))?.chunks.cut).toBe(50);
      await reader?.close();
    }));

  it('gives each chunk its own number where two cut the same run', () =>
    withFolder(async (folder) => {
      const [one, other] = [await openSqliteCheckpoint(folder), await openSqliteCheckpoint(folder)];
      await one.recordRun(sampleRun('r1'));
      const numbers: number[] = [];
      for (let nth = 1; nth <= 6; nth++) {
        numbers.push(await addChunk(nth % 2 === 0 ? one : other, 'r1', nth, 'cut'));
      }
      const halves = await other.recordSplit('r1', 2, sampleHalves(sampleChunk(2)));
      numbers.push(...halves.map(({ number }) => number), await addChunk(one, 'r1', 7, 'cut'));
      expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
      await one.close();
      await other.close();
    }));

  it('waits for another process that has begun to write a new file', () =>
    withFolder(async (folder) => {
      const other = openSqlite(join(folder, 'checkpoint.db'));
      other.exec('BEGIN IMMEDIATE');
      const opening = openSqliteCheckpoint(folder);
      await sleep(20);
      other.exec('ROLLBACK').close();
      await (await opening).close();
    }));

  it('refuses a file that is no checkpoint', () =>
    withFolder(async (folder) => {
      await writeFile(join(folder, 'checkpoint.db'), 'x'.repeat(5000));
      const damaged = { name: 'ConfigError', code: 'CHECKPOINT_DAMAGED' };
      await expect(openSqliteCheckpoint(folder)).rejects.toMatchObject(damaged);
      await expect(openCheckpointReader(folder)).rejects.toMatchObject(damaged);
    }));

  it('refuses a checkpoint with a page that was overwritten', () =>
    withFolder(async (folder) => {
      const checkpoint = await openSqliteCheckpoint(folder);
      await checkpoint.recordRun(sampleRun('r1'));
      for (let number = 1; number <= 60; number++) await addChunk(checkpoint, 'r1', number, 'cut');
      await checkpoint.close();
      const path = join(folder, 'checkpoint.db');
      const database = openSqlite(path);
      const root = database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'chunks'").pluck().get();
      database.close();
      const file = await open(path, 'r+');
      await file.write(Buffer.alloc(4096, 0x55), 0, 4096, (Number(root) - 1) * 4096);
      await file.close();
      await expect(openSqliteCheckpoint(folder)).rejects.toMatchObject({ code: 'CHECKPOINT_DAMAGED' });
    }));

  it('refuses a checkpoint of a newer version, to read and to write', () =>
    withFolder(async (folder) => {
      const database = openSqlite(join(folder, 'checkpoint.db'));
      database.pragma('user_version = 9999');
      database.close();
      const newer = { name: 'ConfigError', code: 'CHECKPOINT_NEWER' };
      await expect(openSqliteCheckpoint(folder)).rejects.toMatchObject(newer);
      await expect(openCheckpointReader(folder)).rejects.toMatchObject(newer);
    }));

  it('says what keeps it from looking at the file, and does not call it lost', () =>
    withFolder(async (folder) => {
      await mkdir(join(folder, 'runs', 'r1'), { recursive: true });
      await writeFile(join(folder, 'runs', 'r1', 'paid.log'), '');
      const path = join(folder, 'checkpoint.db');
      await symlink('checkpoint.db', path);
      const loop = { code: 'PATH_LOOP', facts: { path } };
      await expect(openSqliteCheckpoint(folder)).rejects.toMatchObject(loop);
      await expect(openCheckpointReader(folder)).rejects.toMatchObject(loop);
    }));

  it('says that the state folder cannot be made', () =>
    withFolder(async (folder) => {
      await writeFile(join(folder, 'file'), '');
      const unwritable = { name: 'ConfigError', code: 'STATE_DIR_UNWRITABLE' };
      await expect(openSqliteCheckpoint(join(folder, 'file'))).rejects.toMatchObject(unwritable);
      await expect(openSqliteCheckpoint(join(folder, 'file', 'state'))).rejects.toMatchObject(unwritable);
      await mkdir(join(folder, 'taken', 'checkpoint.db'), { recursive: true });
      await expect(openSqliteCheckpoint(join(folder, 'taken'))).rejects.toMatchObject({
        code: 'PATH_IS_FOLDER',
        exitCode: 2,
        facts: { path: join(folder, 'taken', 'checkpoint.db') },
      });
    }));
});
