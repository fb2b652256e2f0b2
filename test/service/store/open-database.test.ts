/** What SQLite says of the local service's database gets a code. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { unusable } from '../../../src/service/store/open-database.js';
import { openSqlite } from '../../../src/sqlite-driver.js';
import { withFolder } from '../../helpers/folders/folders.js';

it('a full disk is trouble that passes: exit 5, as in the state', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'service.db');
    const db = openSqlite(path);
    try {
      db.exec('CREATE TABLE t (x)');
      db.pragma('max_page_count = 4');
      let error: unknown;
      try {
        db.exec('INSERT INTO t VALUES (zeroblob(100000))');
      } catch (full) {
        error = full;
      }
      expect(error).toMatchObject({ code: 'SQLITE_FULL' });
      expect(unusable(error, path)).toMatchObject({ code: 'DISK_FULL', exitCode: 5, facts: { path } });
    } finally {
      db.close();
    }
  }));
