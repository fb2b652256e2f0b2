/** The contracts of the checkpoint, of the pipeline's lock and of a run's files, over Postgres: one server for all. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLeases } from '../../src/checkpoint/postgres/lease.js';
import type { PostgresState } from '../../src/checkpoint/postgres/open-postgres-state.js';
import { createLocalFiles } from '../../src/files/local-run-files.js';
import { createPostgresParts } from '../../src/files/postgres/postgres-parts.js';
import { readWhole } from '../../src/files/run-files.js';
import { createSplitFiles } from '../../src/files/split-files.js';
import type { PostgresSession } from '../../src/postgres/session.js';
import { type Database, openPostgres, type PostgresServer } from '../helpers/postgres/postgres.js';
import { openState, openStateConnection, stateEmptier } from '../helpers/postgres/postgres-state.js';
import { checkpointContract } from './checkpoint-contract.js';
import { describeFileStore } from './files-contract.js';
import { lockContract } from './lock-contract.js';

let server: PostgresServer;
let database: Database;
let empty: () => Promise<void>;
let state: PostgresState;

beforeAll(async () => {
  server = await openPostgres();
  database = await server.createDatabase();
  state = await openState(database);
  empty = await stateEmptier(database);
}, 60_000);

afterAll(async () => {
  await connection?.close();
  await state.close();
  await server.close();
});

checkpointContract('Postgres', async (use) => {
  await empty();
  await use(state.checkpoint);
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
const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));
const newFolder = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'foliopipe-files-'));
  folders.push(folder);
  return folder;
};
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
