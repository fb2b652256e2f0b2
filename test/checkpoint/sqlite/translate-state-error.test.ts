/** Errors of SQLite and of the system get a code; most of them are really provoked. */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createStateDatabase } from '../../../src/checkpoint/sqlite/state-database.js';
import { translateStateError } from '../../../src/checkpoint/sqlite/translate-state-error.js';
import { openSqlite } from '../../../src/sqlite-driver.js';
import { withFolder } from '../../helpers/folders/folders.js';

describe('translateStateError', () => {
  it('says DISK_FULL when SQLite has no room left', () =>
    withFolder(async (folder) => {
      const connection = openSqlite(join(folder, 'full.db'));
      connection.exec('CREATE TABLE t (x)');
      connection.pragma('max_page_count = 4');
      const db = createStateDatabase(connection);
      const fill = db.prepare('INSERT INTO t VALUES (zeroblob(100000))');
      const write = db.change(() => fill.run());
      const full = { name: 'TroubleError', code: 'DISK_FULL', exitCode: 5 };
      await expect(write()).rejects.toMatchObject(full);
      expect(connection.prepare('SELECT count(*) FROM t').pluck().get()).toBe(0);
      await db.close();
    }));

  it('says DISK_FULL when the system has no room left', () => {
    const error = Object.assign(new Error('write'), { code: 'ENOSPC' });
    expect(translateStateError(error, '/state')).toMatchObject({ code: 'DISK_FULL', cause: error });
  });

  it('says CHECKPOINT_BUSY when another process keeps the write lock', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'busy.db');
      const holder = openSqlite(path);
      holder.exec('CREATE TABLE t (x); BEGIN IMMEDIATE');
      const db = createStateDatabase(openSqlite(path, { timeout: 0 }));
      const insert = db.prepare('INSERT INTO t VALUES (1)');
      const write = db.change(() => insert.run());
      await expect(write()).rejects.toMatchObject({ name: 'TroubleError', code: 'CHECKPOINT_BUSY' });
      holder.exec('ROLLBACK');
      await write();
      holder.close();
      await db.close();
    }));

  it('says STATE_DIR_UNWRITABLE when a connection may only read', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'read.db');
      openSqlite(path).exec('CREATE TABLE t (x)').close();
      const db = createStateDatabase(openSqlite(path, { readonly: true }));
      const insert = db.prepare('INSERT INTO t VALUES (1)');
      const write = db.change(() => insert.run());
      await expect(write()).rejects.toMatchObject({ name: 'ConfigError', code: 'STATE_DIR_UNWRITABLE' });
      await db.close();
    }));

  it('leaves other errors as they are', () =>
    withFolder(async (folder) => {
      const bug = new TypeError('x is not a function');
      expect(translateStateError(bug, folder)).toBe(bug);
      await mkdir(join(folder, 'folder'));
      const error = await readFile(join(folder, 'folder')).catch((cause: unknown) => cause);
      expect(translateStateError(error, folder)).toMatchObject({ code: 'PATH_IS_FOLDER', exitCode: 2 });
    }));
});
