/** Statements are prepared when they are first used, and each of the checkpoint's fits the tables. */
import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { describe, expect, it, vi } from 'vitest';
import { checkpointChanges, checkpointReads } from '../../../src/checkpoint/sqlite/checkpoint-methods.js';
import { openWritingConnection } from '../../../src/checkpoint/sqlite/open-connection.js';
import {
  createStateDatabase,
  type Prepare,
  prepareWhenUsed,
} from '../../../src/checkpoint/sqlite/state-database.js';
import { withFolder } from '../../helpers/folders/folders.js';

async function withConnection(use: (connection: Database) => void): Promise<void> {
  await withFolder(async (folder) => {
    const connection = await openWritingConnection(join(folder, 'checkpoint.db'));
    try {
      use(connection);
    } finally {
      connection.close();
    }
  });
}

describe('a statement', () => {
  it('is prepared once, at its first use', () =>
    withConnection((connection) => {
      const prepare = vi.spyOn(connection, 'prepare');
      const count = prepareWhenUsed(connection)<[], { n: number }>('SELECT count(*) AS n FROM runs');
      expect(prepare).not.toHaveBeenCalled();
      expect(count.get()).toEqual({ n: 0 });
      expect(count.all()).toEqual([{ n: 0 }]);
      expect([...count.iterate()]).toEqual([{ n: 0 }]);
      expect(prepare).toHaveBeenCalledOnce();
    }));

  it('gives rows in the shape that was asked for', () =>
    withConnection((connection) => {
      const prepare = prepareWhenUsed(connection);
      const insert = prepare<[string]>("INSERT INTO pipeline_columns VALUES (?, 's', '[]')");
      expect(insert.run('one').changes).toBe(1);
      const sql = 'SELECT pipeline, service FROM pipeline_columns WHERE pipeline = @name';
      expect(prepare<{ name: string }>(sql).get({ name: 'one' })).toEqual({ pipeline: 'one', service: 's' });
      expect(prepare<{ name: string }>(sql).pluck().get({ name: 'one' })).toBe('one');
      expect(prepare<{ name: string }>(sql).raw().get({ name: 'one' })).toEqual(['one', 's']);
    }));

  it('that is wrong throws when it is used', () =>
    withConnection((connection) => {
      const wrong = prepareWhenUsed(connection)('SELECT 1 FROM no_table');
      expect(() => wrong.get()).toThrow('no such table: no_table');
    }));

  it('of the checkpoint fits the tables, whichever it is', () =>
    withConnection((connection) => {
      const prepare = vi.fn(connection.prepare.bind(connection)) as unknown as Prepare;
      const db = { ...createStateDatabase(connection), prepare };
      checkpointReads(db);
      checkpointChanges(db);
      expect(vi.mocked(prepare).mock.calls.length).toBeGreaterThan(100);
    }));
});
