/** The contracts of the checkpoint, the pipeline's lock and everything in files, over Postgres: one server for all. */
import { randomBytes } from 'node:crypto';
import { readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLeases } from '../../src/checkpoint/postgres/lease.js';
import type { PostgresState } from '../../src/checkpoint/postgres/open-postgres-state.js';
import { createSharedDeltaStore } from '../../src/delta/shared-delta-store.js';
import { createFileCache } from '../../src/files/file-cache.js';
import { createLocalFiles } from '../../src/files/local-run-files.js';
import { createPostgresParts, removeUnnamedPieces } from '../../src/files/postgres/postgres-parts.js';
import { createSharedFiles } from '../../src/files/postgres/shared-names.js';
import { createSplitFiles, DamagedPartError } from '../../src/files/run-files.js';
import type { PostgresSession } from '../../src/postgres/session.js';
import { createSharedAnswerStore } from '../../src/reuse/shared-answer-store.js';
import { readWhole } from '../../src/streams/read-pieces.js';
import { sampleSegment } from '../helpers/checkpoint/samples.js';
import { useNewFolders } from '../helpers/folders/folders.js';
import { type Database, usePostgres } from '../helpers/postgres/postgres.js';
import { openState, openStateConnection, stateEmptier } from '../helpers/postgres/postgres-state.js';
import { describeAnswerStore } from './answer-store-contract.js';
import { checkpointContract } from './checkpoint-contract.js';
import { describeDeltaStore } from './delta-store-contract.js';
import { describeFileStore } from './files-contract.js';
import { lockContract } from './lock-contract.js';
import { describeSharedFiles } from './shared-files-contract.js';

const server = usePostgres();
let database: Database;
let empty: () => Promise<void>;
let state: PostgresState;

beforeAll(async () => {
  database = await server.createDatabase();
  state = await openState(database);
  empty = await stateEmptier(database);
});

afterAll(async () => {
  await connection?.close();
  await state.close();
});

// As a run uses it: every change proves its lease, and the same question is asked once between two changes.
checkpointContract('Postgres', async (use) => {
  await empty();
  const held = await state.lock.take('nightly', { pid: 4242, command: 'foliopipe run', since: 0 });
  await use(state.checkpoint).finally(held.close);
});

it('shows at once which answers another process has forgotten, which needs no lease', async () => {
  await empty();
  const held = await state.lock.take('nightly', { pid: 4242, command: 'foliopipe run', since: 0 });
  const other = await openState(database);
  try {
    const { checkpoint } = state;
    for (const run of ['r1', 'r2']) await checkpoint.recordSegment(sampleSegment(`${run}-1`, run, 1));
    expect(await checkpoint.segments()).toHaveLength(2);
    await other.checkpoint.recordSegmentsForgotten(['r1-1']);
    expect(await checkpoint.segments()).toEqual([sampleSegment('r2-1', 'r2', 1)]);
  } finally {
    await other.close();
    await held.close();
  }
});

lockContract('in Postgres', async (use) => {
  await empty();
  const opened: PostgresSession[] = [];
  const open = () =>
    createLeases(
      async () => {
        const session = await openStateConnection(database);
        opened.push(session);
        return session;
      },
      { held: undefined },
    );
  await use(open).finally(() => Promise.all(opened.map((session) => session.close())));
});

let connection: PostgresSession | undefined;
const newFolder = useNewFolders();
const mayChange = async () => undefined;

describeFileStore('parts in Postgres', async () => {
  await empty();
  connection ??= await openStateConnection(database);
  const parts = createPostgresParts(async () => connection!, { held: undefined });
  return createSplitFiles(createLocalFiles(await newFolder()), parts, mayChange);
});

describeFileStore('parts in a shared folder', async () =>
  createSplitFiles(createLocalFiles(await newFolder()), createLocalFiles(await newFolder()), mayChange),
);

/** Files that all machines see, with their contents in the database or in a folder. */
const openShared = async (folder: string | null) => {
  await empty();
  connection ??= await openStateConnection(database);
  const fence = { held: undefined };
  return createSharedFiles({ open: async () => connection!, place: database.place, fence, folder });
};

describeSharedFiles(
  'in Postgres',
  async () => ({
    shared: await openShared(null),
    contents: async () => {
      const rows = await database.query('SELECT DISTINCT file FROM foliopipe.shared_pieces');
      return rows.map(({ file }) => String(file));
    },
    leaveContent: (id) =>
      database.query(`INSERT INTO foliopipe.shared_pieces (file, piece, bytes) VALUES ('${id}', 0, 'x')`),
  }),
  newFolder,
);
describeSharedFiles(
  'in a shared folder',
  async () => {
    const folder = await newFolder();
    const own = join(folder, 'shared');
    return {
      shared: await openShared(folder),
      contents: () => readdir(own),
      leaveContent: (id) => writeFile(join(own, id), 'x'),
    };
  },
  newFolder,
);

it('reads, replaces and removes a content where it was written, also after the setting was changed', async () => {
  const folder = await newFolder();
  const inDatabase = await openShared(null);
  const place = { open: async () => connection!, place: database.place, fence: { held: undefined }, folder };
  const inFolder = createSharedFiles(place);
  const path = join(await newFolder(), 'local');
  const put = async (shared: typeof inFolder, name: string, content: string) => {
    await writeFile(path, content);
    await shared.put(name, path);
  };
  const read = async (shared: typeof inFolder, name: string) => {
    let text = '';
    for await (const piece of shared.read((await shared.find(name))!)) text += Buffer.from(piece);
    return text;
  };
  for (const name of ['a', 'b', 'c']) await put(inDatabase, name, `first ${name}`);
  expect(await read(inFolder, 'a')).toBe('first a');
  await put(inFolder, 'b', 'second b');
  await inFolder.remove(['c']);
  const pieces = () => database.query('SELECT DISTINCT file FROM foliopipe.shared_pieces');
  expect(await pieces()).toHaveLength(1);
  expect(await read(inDatabase, 'b')).toBe('second b');
  await database.query("INSERT INTO foliopipe.shared_pieces (file, piece, bytes) VALUES ('left', 0, 'x')");
  await inFolder.removeUnnamed(-60_000);
  expect(await pieces()).toHaveLength(1);
});

it('names no content whose pieces were removed before it was complete', async () => {
  await empty();
  connection ??= await openStateConnection(database);
  const session = connection;
  let asked = 0;
  const query: PostgresSession['query'] = async (...args) => {
    const rows = await session.query(...args);
    asked += 1;
    if (asked === 1) await database.query('DELETE FROM foliopipe.shared_pieces');
    return rows;
  };
  const open = async () => ({ ...session, query });
  const fence = { held: undefined };
  const shared = createSharedFiles({ open, place: database.place, fence, folder: null });
  const path = join(await newFolder(), 'segment');
  await writeFile(path, randomBytes(1_500_000));
  await expect(shared.put('reuse/a', path)).rejects.toMatchObject({ code: 'STATE_DATABASE_FAILED' });
  expect(await shared.list('')).toEqual([]);
});

it('keeps what another state has in the same folder', async () => {
  const other = await server.createDatabase();
  await (await openState(other)).close();
  const folder = await newFolder();
  const shared = await openShared(folder);
  const path = join(await newFolder(), 'local');
  await writeFile(path, 'bought');
  await shared.put('reuse/secret', path);
  const session = await openStateConnection(other);
  const place = { open: async () => session, place: other.place, fence: { held: undefined }, folder };
  await createSharedFiles(place).put('reuse/secret', path);
  await createSharedFiles(place).removeUnnamed(-60_000);
  await shared.removeUnnamed(-60_000);
  expect(await readdir(join(folder, 'shared'))).toHaveLength(2);
  await session.close();
});

it('writes nothing into an empty mount point in place of the folder that has its files', async () => {
  const folder = await newFolder();
  const path = join(await newFolder(), 'segment');
  await writeFile(path, 'bought');
  const mounted = await openShared(folder);
  await mounted.put('reuse/a', path);
  await rename(join(folder, 'shared'), join(folder, 'elsewhere'));
  await expect(mounted.put('reuse/b', path)).rejects.toMatchObject({ code: 'FILES_FOLDER_MISSING' });
  expect(await readdir(folder)).toEqual(['elsewhere']);
  await rename(join(folder, 'elsewhere'), join(folder, 'shared'));
  await mounted.put('reuse/b', path);
});

/** Small lanes and blocks, as in the contract over the local disk. */
const limits = { block: { entries: 1, valueInts: 1 }, laneBits: 5 };
describeAnswerStore('files in Postgres', async () => {
  const shared = await openShared(null);
  return createSharedAnswerStore(shared, createFileCache(shared, await newFolder()), limits);
});
describeDeltaStore('files in Postgres', async () => {
  const shared = await openShared(null);
  return createSharedDeltaStore(shared, createFileCache(shared, await newFolder()));
});

it('stores a part of many pieces, and removes all of them', async () => {
  await empty();
  const files = await createPostgresParts(async () => connection!, { held: undefined }).ofRun('R1');
  // What cannot be compressed.
  const pieces = Array.from({ length: 5 }, () => randomBytes(700_000));
  const part = { fileStatus: 'SUCCESSFUL', part: 0 } as const;
  const stored = { ...part, ...(await files.writePart(1, part, pieces)), records: 1 };
  expect((await readWhole(files.readPart(1, stored))).equals(Buffer.concat(pieces))).toBe(true);
  expect(await database.query('SELECT piece FROM foliopipe.part_pieces')).toHaveLength(3);
  await files.removePart(1, stored);
  expect(await database.query('SELECT piece FROM foliopipe.part_pieces')).toHaveLength(0);
});

it('replaces a damaged part by the same content, which is fetched again', async () => {
  await empty();
  const open = () => createPostgresParts(async () => connection!, { held: undefined }).ofRun('R1');
  const pieces = Array.from({ length: 3 }, () => randomBytes(1_200_000));
  const part = { fileStatus: 'SUCCESSFUL', part: 0 } as const;
  const stored = { ...part, ...(await (await open()).writePart(1, part, pieces)), records: 1 };
  const read = async () => readWhole((await open()).readPart(1, stored));
  await database.query('DELETE FROM foliopipe.part_pieces WHERE piece = 1');
  await expect(read()).rejects.toBeInstanceOf(DamagedPartError);
  expect(await (await open()).writePart(1, part, pieces)).toEqual({
    bytes: stored.bytes,
    sha256: stored.sha256,
  });
  expect((await read()).equals(Buffer.concat(pieces))).toBe(true);
  await removeUnnamedPieces({ openParts: async () => connection!, fence: { held: undefined } }, 'nightly');
  expect((await read()).equals(Buffer.concat(pieces))).toBe(true);
});

it('keeps no bytes of a run whose files are removed', async () => {
  await empty();
  const store = createPostgresParts(async () => connection!, { held: undefined });
  const part = { fileStatus: 'SUCCESSFUL', part: 0 } as const;
  for (const run of ['R1', 'R2']) await (await store.ofRun(run)).writePart(1, part, [Buffer.from('one')]);
  await store.remove('R1');
  expect((await store.runs()).map(({ run }) => run)).toEqual(['R2']);
});
