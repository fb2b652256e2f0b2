/** What becomes of a paid request is kept even if the files of the database were removed while it was on its way. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openWritingConnection } from '../../../src/checkpoint/sqlite/open-connection.js';
import { createStateDatabase } from '../../../src/checkpoint/sqlite/state-database.js';
import { newestSaved } from '../../../src/checkpoint/sqlite/watch-place.js';
import { openSqlite } from '../../../src/sqlite-driver.js';
import { withFolder } from '../../helpers/folders/folders.js';

const gone = { code: 'CHECKPOINT_GONE' };

it('an outcome is in the copy; every other change is refused; without a place for the copy the outcome fails', () =>
  withFolder(async (folder) => {
    const state = join(folder, 'state');
    const path = join(state, 'checkpoint.db');
    mkdirSync(state);
    const connection = await openWritingConnection(path);
    const db = createStateDatabase(connection);
    connection.exec('CREATE TABLE notes (text TEXT)');
    const add = connection.prepare<[string]>('INSERT INTO notes VALUES (?)');
    const note = (text: string) => void add.run(text);
    await db.change(note)('before');

    rmSync(state, { recursive: true });
    writeFileSync(state, 'in the way');
    await expect(db.outcomeChange(note)('no place')).rejects.toMatchObject(gone);
    rmSync(state);
    await db.outcomeChange(note)('first reply');
    await expect(db.change(note)('refused')).rejects.toMatchObject(gone);
    await db.outcomeChange(note)('second reply');
    await expect(db.unsyncedChange(note)('refused')).rejects.toMatchObject(gone);
    await expect(db.close()).rejects.toMatchObject(gone);

    expect(readdirSync(state)).toHaveLength(1);
    const copy = openSqlite(newestSaved(path)!, { readonly: true });
    const texts = copy.prepare('SELECT text FROM notes').pluck().all();
    copy.close();
    expect(texts).toEqual(['before', 'no place', 'first reply', 'second reply']);
  }));

it('the newest of several copies is the one to use, and one that is not finished is none', () =>
  withFolder(async (folder) => {
    for (const end of ['.saved-1795375317310', '.saved-1795375317311', '.saved-1795375317312.tmp'])
      writeFileSync(join(folder, `checkpoint.db${end}`), '');
    expect(newestSaved(join(folder, 'checkpoint.db'))).toMatch(/\.saved-1795375317311$/);
  }));
