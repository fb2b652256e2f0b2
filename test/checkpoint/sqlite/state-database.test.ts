/** Which changes wait for the disk. */
import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { openWritingConnection } from '../../../src/checkpoint/sqlite/open-connection.js';
import { checkpointChanges } from '../../../src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import {
  createStateDatabase,
  openLogSync,
  type StateDatabase,
} from '../../../src/checkpoint/sqlite/state-database.js';
import { withFolder } from '../../helpers/folders/folders.js';

async function withDatabase(use: (db: StateDatabase, connection: Database) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const connection = await openWritingConnection(join(folder, 'checkpoint.db'));
    const db = createStateDatabase(connection);
    await use(db, connection).finally(() => db.close());
  });
}

interface Sync {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** @param use ends each sync of the log by hand, in the order in which they begin. */
async function withSyncs(use: (db: StateDatabase, syncs: readonly Sync[]) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const connection = await openWritingConnection(join(folder, 'checkpoint.db'));
    const syncs: Sync[] = [];
    const log = openLogSync(
      connection.name,
      () => new Promise((resolve, reject) => syncs.push({ resolve, reject })),
    );
    const db = createStateDatabase(connection, log);
    await use(db, syncs).finally(() => db.close());
  });
}

describe('a change', () => {
  it('is committed at once, and resolves when the log is on the disk; an unsynced change does not wait', () =>
    withSyncs(async (db, syncs) => {
      const names = db.prepare<[], string>('SELECT pipeline FROM pipeline_columns').pluck();
      const insert = db.prepare("INSERT INTO pipeline_columns VALUES (?, 's', '[]')");
      const add = (name: string) => void insert.run(name);
      const ended: string[] = [];
      const first = db
        .change(add)('one')
        .then(() => ended.push('one'));
      const second = db
        .outcomeChange(add)('two')
        .then(() => ended.push('two'));
      await db.unsyncedChange(add)('three');
      expect(names.all()).toEqual(['one', 'three', 'two']);
      expect(ended).toEqual([]);
      syncs[0]!.resolve();
      await first;
      expect(ended).toEqual(['one']);
      syncs[1]!.resolve();
      await second;
      expect(syncs).toHaveLength(2);
    }));

  it('fails if the log cannot be synced, and so does each later one', () =>
    withSyncs(async (db, syncs) => {
      const read = db.prepare<[], number>('SELECT count(*) FROM runs').pluck();
      const work = () => read.get();
      const [running, waiting] = [db.change(work)(), db.change(work)()];
      const failed = { code: 'CHECKPOINT_IO', message: expect.stringContaining('checkpoint.db') };
      syncs[0]!.reject(
        Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO', syscall: 'fdatasync' }),
      );
      await expect(running).rejects.toMatchObject(failed);
      await expect(waiting).rejects.toMatchObject(failed);
      await expect(db.change(work)()).rejects.toMatchObject(failed);
      await expect(db.unsyncedChange(work)()).rejects.toMatchObject(failed);
      expect(await db.read(work)()).toBe(0);
      expect(syncs).toHaveLength(1);
    }));

  it('is unsynced only where its loss costs free work', () =>
    withDatabase(async (db) => {
      const unsynced = new Set<unknown>();
      const changes = checkpointChanges({
        ...db,
        unsyncedChange: (work) => {
          const method = db.unsyncedChange(work);
          unsynced.add(method);
          return method;
        },
      });
      const names = Object.entries(changes).filter(([, method]) => unsynced.has(method));
      expect(names.map(([name]) => name).sort()).toEqual([
        'recordCut',
        'recordFinished',
        'recordMerged',
        'recordParts',
      ]);
    }));
});

it('a read sees what was committed, several statements of one see the same', () =>
  withDatabase(async (db, connection) => {
    const other = await openWritingConnection(connection.name);
    const version = db.prepare('SELECT count(*) FROM pipeline_columns').pluck();
    const add = other.prepare("INSERT INTO pipeline_columns VALUES (?, 's', '[]')");
    const addBetween = (name: string) => () => {
      const first = version.get();
      add.run(name);
      return [first, version.get()];
    };
    expect(await db.readTogether(addBetween('one'))()).toEqual([0, 0]);
    expect(await db.read(() => version.get())()).toBe(1);
    other.close();
  }));
