/** Which changes wait for the disk. */
import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { openWritingConnection } from '../../../src/checkpoint/sqlite/open-connection.js';
import { checkpointChanges } from '../../../src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import { createStateDatabase, type StateDatabase } from '../../../src/checkpoint/sqlite/state-database.js';
import { withFolder } from '../../helpers/folders/folders.js';

async function withDatabase(use: (db: StateDatabase, connection: Database) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const connection = await openWritingConnection(join(folder, 'checkpoint.db'));
    const db = createStateDatabase(connection);
    await use(db, connection).finally(() => db.close());
  });
}

describe('a change', () => {
  it('waits for the disk unless it is an unsynced change, in any order', () =>
    withDatabase(async (db, connection) => {
      // NORMAL is 1, FULL is 2.
      const level = () => connection.pragma('synchronous', { simple: true });
      const fail = () => {
        throw new Error('no');
      };
      expect(await db.change(level)()).toBe(2);
      expect(await db.unsyncedChange(level)()).toBe(1);
      expect(await db.change(level)()).toBe(2);
      await expect(db.change(fail)()).rejects.toThrow('no');
      expect(await db.unsyncedChange(level)()).toBe(1);
      await expect(db.unsyncedChange(fail)()).rejects.toThrow('no');
      expect(await db.change(level)()).toBe(2);
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
        'recordPart',
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
