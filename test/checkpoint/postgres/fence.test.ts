/** A process that has lost its lease changes nothing; what the service has said to it is recorded all the same. */
import { randomBytes } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { Checkpoint, RecordedLoad } from '../../../src/checkpoint/checkpoint.js';
import { createLeases } from '../../../src/checkpoint/postgres/lease.js';
import { migrate } from '../../../src/checkpoint/postgres/migrate.js';
import { migrations } from '../../../src/checkpoint/postgres/tables.js';
import { LockedError } from '../../../src/errors.js';
import { createPostgresParts, removeUnnamedPieces } from '../../../src/files/postgres/postgres-parts.js';
import { createSharedFiles } from '../../../src/files/postgres/shared-names.js';
import { readWhole } from '../../../src/streams/read-pieces.js';
import { addChunk } from '../../helpers/checkpoint/advance-chunk.js';
import {
  allSuccessful,
  sampleBudget,
  sampleChunk,
  sampleConfirmed,
  sampleHalves,
  samplePart,
  samplePublication,
  sampleRun,
  sampleSegment,
  sampleSingle,
  sampleSource,
  sampleWithheld,
} from '../../helpers/checkpoint/samples.js';
import { ALL_STATES } from '../../helpers/checkpoint/walk-target.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { usePostgres } from '../../helpers/postgres/postgres.js';
import { openState, openStateConnection, useStateDatabase } from '../../helpers/postgres/postgres-state.js';

const newFolder = useFolder();
const server = usePostgres();
const shared = useStateDatabase(server);

const holder = { pid: 4242, command: 'foliopipe run', since: 0 };
const fileName = { before: 'a-', after: '.csv' };
const reply = { folio: 'F-1', serviceRecords: 10, rehearsal: false };

/** The clock of the server goes past the end of the lease, as if this process had been stopped for so long. */
const expireLease = () =>
  shared.database.query("UPDATE foliopipe.leases SET until = now() - interval '1 second'");

const tables = [
  ...['runs', 'chunks', 'picked_records', 'uploads', 'parts', 'stretches', 'pipeline_columns', 'searches'],
  ...['single_searches', 'spending', 'publications', 'loads', 'output_uploads', 'segments'],
];

/** Everything in the tables, in one question, because each takes a connection of its own. */
const allRows = () =>
  shared.database.query(
    `SELECT ${tables.map((name) => `(SELECT json_agg(t ORDER BY t::text) FROM foliopipe.${name} AS t) AS ${name}`)}`,
  );

/** A process that works on a run with an upload in flight, and another one that has taken over. */
async function withTakeover(
  use: (first: Awaited<ReturnType<typeof openState>>, second: typeof first) => Promise<void>,
): Promise<void> {
  const [first, second] = [await openState(shared.database), await openState(shared.database)];
  try {
    await first.lock.take('nightly', holder);
    const { checkpoint } = first;
    await checkpoint.recordRun(sampleRun('r1'));
    await checkpoint.recordCut('r1', sampleChunk(1));
    await checkpoint.recordCut('r1', sampleChunk(2));
    await checkpoint.recordIntent('r1', 1, fileName, 1, sampleBudget());
    for (const record of [7, 8, 9]) await checkpoint.recordSearchIntent('r1', record, 1, sampleBudget());
    await expireLease();
    await second.lock.take('nightly', { ...holder, pid: 4343 });
    await second.checkpoint.recordInterrupted('r1');
    await use(first, second);
  } finally {
    await first.close();
    await second.close();
  }
}

/** Every change but what the service has said of a paid request. */
type Fenced = Exclude<
  Extract<keyof Checkpoint, `record${string}`>,
  'recordAccepted' | 'recordDropped' | 'recordAmbiguous' | 'recordSearchEnd' | 'recordSingleSearchEnd'
>;

it('refuses every change of a process without its lease', () =>
  withTakeover(async ({ checkpoint: of }, { checkpoint: other }) => {
    // Each change finds what it would change.
    await other.recordUnprocessed('r1', 1, 'AMBIGUOUS_HELD');
    await other.recordSearchIntent('r1', 5, 1, sampleBudget());
    for (const [at, state] of ALL_STATES.entries()) await addChunk(other, 'r1', at + 3, state);
    const { number: single } = await other.recordCut('r1', sampleSingle(20));
    await other.recordRun(sampleRun('r3'));
    await other.recordWithheld('r3', sampleWithheld, 1);
    const join = { by: 'key', column: 'id', judged: null } as const;
    const search = { id: 's1', pipeline: 'nightly', service: 'https://service.test', startedAt: 1 };
    const counts = { successful: 10, failed: 0 };
    const stretch = { firstRecord: 1, lastRecord: 10, records: 10, end: { file: 0, offset: 9 }, workEnd: 9 };
    const changes: Readonly<Record<Fenced, (chunk: number) => Promise<unknown>>> = {
      recordRun: () => of.recordRun(sampleRun('r2')),
      recordSourceStamp: () => of.recordSourceStamp('r1', sampleSource('stamp-2')),
      recordSuperseded: () => of.recordSuperseded('r1', 1),
      recordInterrupted: () => of.recordInterrupted('r1'),
      recordCut: () => of.recordCut('r1', sampleChunk(21)),
      recordAllCut: () => of.recordAllCut('r1'),
      recordSplit: (chunk) => of.recordSplit('r1', chunk, sampleHalves(sampleChunk(chunk))),
      recordRefused: (chunk) => of.recordRefused('r1', chunk, 'no'),
      recordIntent: (chunk) => of.recordIntent('r1', chunk, fileName, 1, sampleBudget()),
      recordAdopted: (chunk) => of.recordAdopted('r1', chunk, reply, 1),
      recordFound: (chunk) => of.recordFound('r1', chunk),
      recordMixed: () => of.recordMixed('r1'),
      recordFinished: (chunk) => of.recordFinished('r1', chunk, counts, []),
      recordParts: (chunk) => of.recordParts('r1', chunk, [samplePart(0)]),
      recordRefetched: (chunk) => of.recordRefetched('r1', chunk, counts, []),
      recordDownloaded: (chunk) => of.recordDownloaded('r1', chunk),
      recordUnprocessed: (chunk) => of.recordUnprocessed('r1', chunk, 'AMBIGUOUS_HELD'),
      recordRoundClosed: () => of.recordRoundClosed('r1', 1),
      recordSearchIntent: () => of.recordSearchIntent('r1', 6, 1, sampleBudget()),
      recordSingleSearchIntent: () => of.recordSingleSearchIntent(search, sampleBudget()),
      recordColumns: () => of.recordColumns('r1', ['code'], true),
      recordColumnsAdded: () => of.recordColumnsAdded('r1', ['code']),
      recordJoin: () => of.recordJoin('r1', join),
      recordUnjoined: () => of.recordUnjoined('r1'),
      recordMerged: () => of.recordMerged('r1', { ...stretch, counts: allSuccessful, sha256: 'f00d' }),
      recordUnmerged: () => of.recordUnmerged('r1', 1),
      recordWithheld: () => of.recordWithheld('r1', sampleWithheld, 1),
      recordConfirmed: () => of.recordConfirmed('r1', sampleConfirmed, 1),
      recordPublishing: () => of.recordPublishing('r1', samplePublication),
      recordDone: () => of.recordDone('r1', 1),
      recordSegment: () => of.recordSegment(sampleSegment('r1-1', 'r1', 1)),
      recordSegmentsForgotten: () => of.recordSegmentsForgotten(['r0-1']),
      recordUnpublished: () => of.recordUnpublished('r1'),
      recordLoad: () => of.recordLoad('r1', {} as RecordedLoad),
      recordOutputUpload: () => of.recordOutputUpload('s3://b/k', '{}'),
      recordReopened: () => of.recordReopened('r3'),
      recordPruned: () => of.recordPruned('r1', 1),
    };
    const withCap = (chunk: number) =>
      of.recordIntent('r1', chunk, fileName, 1, sampleBudget({ perRun: 1_000 }));
    const before = await allRows();
    for (const change of [...Object.values(changes), withCap]) {
      for (let chunk = change.length === 0 ? single : 1; chunk <= single; chunk++) {
        const error = await change(chunk).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(LockedError);
        expect(error).toMatchObject({ code: 'LEASE_LOST', exitCode: 11 });
      }
      expect(await allRows(), String(change)).toEqual(before);
    }
  }));

it('changes nothing either when it has closed a lock that it had no longer', async () => {
  const [first, second] = [await openState(shared.database), await openState(shared.database)];
  try {
    const lock = await first.lock.take('nightly', holder);
    await first.checkpoint.recordRun(sampleRun('r1'));
    await expireLease();
    await second.lock.take('nightly', { ...holder, pid: 4343 });
    await lock.close();
    await expect(first.checkpoint.recordCut('r1', sampleChunk(1))).rejects.toMatchObject({
      code: 'LEASE_LOST',
    });
    const output = await first.outputs.take('/out/a.csv', holder);
    await expireLease();
    await second.outputs.take('/out/a.csv', holder);
    await output.close();
    const third = first.outputs.take('/out/a.csv', holder);
    await expect(third).rejects.toMatchObject({ code: 'PIPELINE_LOCKED' });
  } finally {
    await first.close();
    await second.close();
  }
});

it('records the folio of an upload that another process holds for ambiguous', () =>
  withTakeover(async (first, second) => {
    await first.checkpoint.recordAccepted('r1', 1, reply, 9).catch((error: unknown) => {
      expect(error).toMatchObject({ code: 'LEASE_LOST' });
    });
    expect(await second.checkpoint.chunk('r1', 1)).toMatchObject({ state: 'submitted', folio: 'F-1' });
    expect(await second.checkpoint.attempts('r1', 1)).toMatchObject([
      { state: 'accepted', folio: 'F-1', doubt: null },
    ]);
  }));

it('records a late folio beside the attempt that was sent instead', () =>
  withTakeover(async (first, second) => {
    await second.checkpoint.recordIntent('r1', 1, fileName, 2, sampleBudget());
    await expect(first.checkpoint.recordAccepted('r1', 1, reply, 9)).rejects.toMatchObject({
      code: 'LEASE_LOST',
    });
    expect(await second.checkpoint.chunk('r1', 1)).toMatchObject({ state: 'uploading', attempt: 2 });
    await second.checkpoint.recordAccepted('r1', 1, { ...reply, folio: 'F-2' }, 10);
    expect(await second.checkpoint.attempts('r1', 1)).toMatchObject([
      { state: 'accepted', folio: 'F-1' },
      { state: 'accepted', folio: 'F-2' },
    ]);
    expect((await second.checkpoint.spending('nightly', 'r1', '2026-11-21')).run).toBe(23);
    const { uploads } = await second.checkpoint.tally('r1');
    expect(uploads).toEqual({ accepted: 2, ambiguous: 0, resubmitted: 1 });
  }));

describe.each(['before', 'after'])('a late folio that is recorded %s the end of the attempt', (order) => {
  it.each([
    ['was refused', (of: Checkpoint) => of.recordDropped('r1', 1, 10), 13],
    ['has no reply', (of: Checkpoint) => of.recordAmbiguous('r1', 1, 10, 'no-reply'), 23],
    ['was cut off', (of: Checkpoint) => of.recordInterrupted('r1'), 23],
  ])('is what its chunk goes on with: the attempt that was sent instead %s', (_, end, spent) =>
    withTakeover(async (first, second) => {
      const accept = () => first.checkpoint.recordAccepted('r1', 1, reply, 9).catch(() => undefined);
      await second.checkpoint.recordIntent('r1', 1, fileName, 2, sampleBudget());
      if (order === 'before') await accept();
      await end(second.checkpoint);
      if (order === 'after') await accept();
      const chunk = { state: 'submitted', folio: 'F-1', submittedAt: 9, attempt: 2 };
      expect(await second.checkpoint.chunk('r1', 1)).toMatchObject(chunk);
      expect((await second.checkpoint.spending('nightly', 'r1', '2026-11-21')).run).toBe(spent);
    }),
  );
});

it('lets a chunk be sent again of which each attempt was refused, in whatever order that is recorded', () =>
  withTakeover(async (first, second) => {
    await second.checkpoint.recordIntent('r1', 1, fileName, 2, sampleBudget());
    await second.checkpoint.recordDropped('r1', 1, 10);
    await first.checkpoint.recordDropped('r1', 1, 11);
    expect(await second.checkpoint.chunk('r1', 1)).toMatchObject({ state: 'cut', folio: null });
  }));

it('refunds a late refusal, and lets the chunk be sent again', () =>
  withTakeover(async (first, second) => {
    await first.checkpoint.recordDropped('r1', 1, 9);
    expect(await second.checkpoint.chunk('r1', 1)).toMatchObject({ state: 'cut' });
    expect(await second.checkpoint.attempts('r1', 1)).toMatchObject([{ state: 'dropped', doubt: null }]);
    expect((await second.checkpoint.spending('nightly', 'r1', '2026-11-21')).run).toBe(3);
  }));

it('records the answer of a search that another process holds for ambiguous', () =>
  withTakeover(async (first, second) => {
    const values = { code: '722511' };
    await first.checkpoint.recordSearchEnd('r1', 7, { state: 'answered', values });
    await first.checkpoint.recordSearchEnd('r1', 8, { state: 'dropped' });
    await first.checkpoint.recordSearchEnd('r1', 9, { state: 'ambiguous' });
    expect(await second.checkpoint.searches('r1', 0, 9)).toMatchObject([
      { record: 7, state: 'answered', values },
      { record: 8, state: 'dropped' },
      { record: 9, state: 'ambiguous' },
    ]);
    // The chunk, and the two searches that may have been paid for.
    expect((await second.checkpoint.spending('nightly', 'r1', '2026-11-21')).run).toBe(12);
  }));

it('keeps the answer of a search that comes after the run has been published', () =>
  withTakeover(async (first, second) => {
    await second.checkpoint.recordPublishing('r1', samplePublication);
    await second.checkpoint.recordDone('r1', 5);
    await first.checkpoint.recordSearchEnd('r1', 7, { state: 'answered', values: null });
    expect((await second.checkpoint.searches('r1', 0, 1))[0]).toMatchObject({ state: 'answered' });
  }));

it('keeps no values of a search whose run is pruned, only that it was answered', () =>
  withTakeover(async (first, second) => {
    await second.checkpoint.recordPublishing('r1', samplePublication);
    await second.checkpoint.recordDone('r1', 5);
    await second.checkpoint.recordPruned('r1', 6);
    // One that is not pruned.
    await second.checkpoint.recordRun(sampleRun('r2'));
    await first.checkpoint.recordSearchEnd('r1', 7, { state: 'answered', values: { code: '722511' } });
    expect((await second.checkpoint.searches('r1', 6, 1))[0]).toMatchObject({
      record: 7,
      state: 'answered',
      values: null,
    });
  }));

it('names no part of a process without its lease, and the successor removes its pieces', async () => {
  const [first, second] = [await openState(shared.database), await openState(shared.database)];
  try {
    await first.lock.take('nightly', holder);
    await first.checkpoint.recordRun(sampleRun('r1'));
    const files = await createPostgresParts(first.openParts, first.fence).ofRun('r1');
    const part = { fileStatus: 'SUCCESSFUL', part: 0 } as const;
    const pieces = Array.from({ length: 4 }, () => randomBytes(1_200_000));
    const stored = { ...part, ...(await files.writePart(1, part, pieces)), records: 1 };
    const countPieces = () => shared.database.query('SELECT file FROM foliopipe.part_pieces');
    const before = (await countPieces()).length;
    const content = async function* () {
      yield* pieces.slice(1);
      // It is killed, or it is paused and wakes up.
      await expireLease();
      await second.lock.take('nightly', { ...holder, pid: 4343 });
      // The first one would remove what its successor is writing.
      await expect(removeUnnamedPieces(first, 'nightly')).rejects.toMatchObject({ code: 'LEASE_LOST' });
      expect((await countPieces()).length).toBeGreaterThan(before);
      await removeUnnamedPieces(second, 'nightly');
      expect(await countPieces()).toHaveLength(before);
    };
    await expect(files.writePart(2, part, content())).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(await shared.database.query('SELECT chunk FROM foliopipe.part_files')).toHaveLength(1);
    const others = await createPostgresParts(second.openParts, second.fence).ofRun('r1');
    const read = await readWhole(others.readPart(1, stored));
    expect(read.equals(Buffer.concat(pieces))).toBe(true);
  } finally {
    await first.close();
    await second.close();
  }
});

it.each([null, 'a folder'])(
  'names no shared file of a process without its lease, contents in %s',
  async (where) => {
    const [first, second] = [await openState(shared.database), await openState(shared.database)];
    const folder = where === null ? null : await newFolder();
    const sharedOf = ({ openParts: open, fence }: typeof first) =>
      createSharedFiles({ open, place: shared.database.place, fence, folder });
    const path = join(await newFolder(), 'local');
    const contents = async () =>
      folder === null
        ? await shared.database.query('SELECT file FROM foliopipe.shared_pieces')
        : await readdir(join(folder, 'shared'));
    try {
      await first.lock.take('nightly', holder);
      await writeFile(path, 'ours');
      await sharedOf(first).put('a', path);
      await expireLease();
      await second.lock.take('nightly', { ...holder, pid: 4343 });
      const before = [await sharedOf(second).find('a'), await contents()];
      expect(before).toMatchObject([{ bytes: 4 }, [expect.anything()]]);
      await writeFile(path, 'of a process that was paused');
      for (const change of [
        () => sharedOf(first).put('a', path),
        () => sharedOf(first).put('b', path),
        () => sharedOf(first).putFirst('c', path),
        () => sharedOf(first).remove(['a']),
      ]) {
        await expect(change()).rejects.toMatchObject({ code: 'LEASE_LOST' });
        const after = [await sharedOf(second).find('a'), await contents()];
        expect(after).toMatchObject([{ ...(before[0] as object), age: expect.any(Number) }, before[1]]);
      }
      expect(await sharedOf(second).list('')).toHaveLength(1);
    } finally {
      await first.close();
      await second.close();
    }
  },
);

it('renews a lease, and tells when it is lost', async () => {
  const times = { lease: 600, renew: 50 };
  const session = await openStateConnection(shared.database);
  const [first, second] = [0, 1].map(() => createLeases(async () => session, { held: undefined }, times));
  const held = await first!.take('nightly', holder);
  const until = async () => (await shared.database.query('SELECT until::text FROM foliopipe.leases'))[0];
  const before = await until();
  await expect.poll(until, { timeout: 5_000 }).not.toEqual(before);
  await expireLease();
  await expect.poll(() => held.lost!.aborted, { timeout: 5_000 }).toBe(true);
  expect(held.lost!.reason).toMatchObject({ code: 'LEASE_LOST' });
  await expect(held.expectHeld!()).rejects.toMatchObject({ code: 'LEASE_LOST' });
  const next = await second!.take('nightly', { ...holder, pid: 1 });
  // Closing it does not free the lease of the other.
  await held.close();
  await next.expectHeld!();
  await next.close();
  await session.close();
});

it('has a lease for as long as it renews it, by its own clocks', async () => {
  const session = await openStateConnection(shared.database);
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  try {
    const times = { lease: 60_000, renew: 20_000 };
    const held = await createLeases(async () => session, { held: undefined }, times).take('nightly', holder);
    for (const _ of ['once', 'twice']) {
      vi.advanceTimersByTime(40_000);
      await held.expectHeld?.();
      expect(held.isHeld?.()).toBe(true);
    }
    await held.close();
  } finally {
    vi.useRealTimers();
    await session.close();
  }
});

it('makes its tables once when many processes start at the same time', async () => {
  const other = await server.createDatabase();
  const states = await Promise.all(Array.from({ length: 5 }, () => openState(other)));
  await Promise.all(states.map((state) => state.close()));
  const rows = await other.query('SELECT version FROM foliopipe.migrations');
  expect(rows).toHaveLength(migrations.length);
});

it('refuses the tables of a newer version', async () => {
  const other = await server.createDatabase();
  await (await openState(other)).close();
  await other.query('INSERT INTO foliopipe.migrations VALUES (99)');
  await expect(openState(other)).rejects.toMatchObject({
    code: 'CHECKPOINT_NEWER',
    exitCode: 2,
    facts: { database: other.place, version: 99 },
  });
});

it('lets nobody take a lease while it migrates, and refuses who has waited with an older version', async () => {
  const other = await server.createDatabase();
  const older = await openState(other);
  const session = await openStateConnection(other);
  const newer = [...migrations, 'SELECT pg_sleep(2)'];
  const migrated = migrate(session, newer);
  const sleeping = () => other.query("SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
  await expect.poll(sleeping, { timeout: 5_000 }).toHaveLength(1);
  const held = await older.lock.take('nightly', holder);
  const [found] = await other.query('SELECT max(version)::int AS version FROM foliopipe.migrations');
  expect(found).toEqual({ version: newer.length });
  await migrated;
  await expect(older.expectUsable()).rejects.toMatchObject({ code: 'CHECKPOINT_NEWER' });
  await expect(migrate(session, [...newer, 'SELECT 1'])).rejects.toMatchObject({ code: 'STATE_IN_USE' });
  await held.close();
  await session.close();
  await older.close();
});

it('waits for a server that restarts, and keeps what was committed', async () => {
  const state = await openState(shared.database);
  await state.checkpoint.recordRun(sampleRun('r1'));
  await server.kill();
  const reading = state.checkpoint.run('r1');
  await server.start();
  expect(await reading).toMatchObject({ id: 'r1' });
  await state.checkpoint.recordCut('r1', sampleChunk(1));
  await state.close();
});
