import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError, LockedError, TroubleError } from '../../../src/errors.js';
import type { NewFolio, Slice } from '../../../src/service/store/folio.js';
import { type FolioStore, openFolioStore } from '../../../src/service/store/folio-store.js';
import { MIGRATIONS } from '../../../src/service/store/open-database.js';
import { openSqlite } from '../../../src/sqlite-driver.js';
import { useFolder } from '../../helpers/folders/folders.js';

const NEW: NewFolio = {
  folio: 'f1',
  fileName: 'a.csv',
  description: 'ours',
  createdAt: 1,
  header: Buffer.from('name'),
  records: 5,
  segmentRecords: 2,
  failShare: 0.07,
  failSeed: 7,
  offset: 5,
};

function slice(offset: number, successful: string, failed = ''): Slice {
  return {
    offset,
    successful: successful.length,
    failed: failed.length,
    successfulBytes: Buffer.from(successful),
    failedBytes: Buffer.from(failed),
  };
}

describe('FolioStore', () => {
  const newFolder = useFolder();
  let folder: string;
  let file: string;
  let store: FolioStore;
  beforeEach(async () => {
    folder = await newFolder();
    file = path.join(folder, 'service.db');
    store = openFolioStore(file);
  });
  afterEach(async () => {
    store.close();
  });

  const contentOf = (folioId: number, fileStatus: 'SUCCESSFUL' | 'FAILED', part: number) =>
    Buffer.concat([...store.content({ folioId, fileStatus, part })]).toString();

  it('keeps a folio with its progress and its results', () => {
    let folio = store.recordUploaded(NEW);
    expect(folio.finishedAt).toBeNull();
    folio = store.recordSlice(folio, slice(7, 'a', 'x'));
    folio = store.recordSlice(folio, slice(9, 'b'));
    folio = store.recordSlice(folio, slice(11, 'c', 'y'));
    store.recordFinished(folio);
    store.close();
    store = openFolioStore(file);
    expect(store.find('f1')).toEqual({
      ...NEW,
      id: folio.id,
      status: 'FINISHED',
      offset: 11,
      successful: 3,
      failed: 2,
      finishedAt: expect.closeTo(Date.now(), -5),
    });
    expect(contentOf(folio.id, 'SUCCESSFUL', 0)).toBe('ab');
    expect(contentOf(folio.id, 'SUCCESSFUL', 1)).toBe('c');
    expect(contentOf(folio.id, 'FAILED', 0)).toBe('xy');
    expect(contentOf(folio.id + 1, 'FAILED', 0)).toBe('');
  });

  it('lists the folios that are PROCESSING, oldest first', () => {
    const first = store.recordUploaded({ ...NEW, records: 1 });
    store.recordUploaded({ ...NEW, folio: 'f3' });
    store.recordUploaded({ ...NEW, folio: 'f2' });
    store.recordFinished(store.recordSlice(first, slice(6, 'a')));
    expect(store.processing().map(({ folio }) => folio)).toEqual(['f3', 'f2']);
  });

  it('refuses a slice that does not follow the committed state, and stores nothing of it', () => {
    const folio = store.recordUploaded(NEW);
    store.recordSlice(folio, slice(7, 'a'));
    expect(() => store.recordSlice(folio, slice(8, 'bc'))).toThrow(TroubleError);
    expect(contentOf(folio.id, 'SUCCESSFUL', 0)).toBe('a');
  });

  it('finishes a folio only when every record is processed, and once', () => {
    const folio = store.recordUploaded({ ...NEW, records: 2 });
    const half = store.recordSlice(folio, slice(7, 'a'));
    expect(() => store.recordFinished(half)).toThrow(TroubleError);
    const whole = store.recordSlice(half, slice(9, '', 'x'));
    store.recordFinished(whole);
    expect(() => store.recordFinished(whole)).toThrow(TroubleError);
  });

  it('can be opened once at a time', () => {
    expect(() => openFolioStore(file)).toThrow(LockedError);
  });

  it('migrates a file of an older version, whose folios have no forced failures', () => {
    const older = path.join(folder, 'older.db');
    const db = openSqlite(older);
    db.exec(MIGRATIONS[0]!);
    db.pragma('user_version = 1');
    db.prepare(`INSERT INTO folios VALUES (1, 'f1', 'a.csv', 'ours', 1, ?, 5, 2, 'PROCESSING', 5, 0, 0)`).run(
      NEW.header,
    );
    db.close();
    const opened = openFolioStore(older);
    expect(opened.find('f1')).toMatchObject({ ...NEW, failShare: 0, failSeed: 0, finishedAt: null });
    opened.close();
  });

  it('refuses a file of a newer version', () => {
    store.close();
    const db = openSqlite(file);
    db.pragma('user_version = 99');
    db.close();
    expect(() => openFolioStore(file)).toThrow(ConfigError);
    store = openFolioStore(path.join(folder, 'other.db'));
  });
});
