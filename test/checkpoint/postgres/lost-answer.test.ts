/** What the database has recorded while its answer was lost with the connection: paid requests, and parts. */
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Account } from '../../../src/checkpoint/postgres/account/open-account.js';
import type { PostgresState } from '../../../src/checkpoint/postgres/open-postgres-state.js';
import { createPostgresParts } from '../../../src/files/postgres/postgres-parts.js';
import { readWhole } from '../../../src/streams/read-pieces.js';
import { sampleBudget, sampleChunk, sampleRun } from '../../helpers/checkpoint/samples.js';
import { openState } from '../../helpers/postgres/postgres-state.js';
import { useSilentNetwork } from '../../helpers/postgres/silent-network.js';

const silent = useSilentNetwork();
let state: PostgresState;
let account: Account;

beforeEach(async () => {
  state = await openState(silent.network.database);
  await state.checkpoint.recordRun(sampleRun('r1'));
});
afterEach(() => state.close());

const fileName = { before: 'a-', after: '.csv' };
const day = '2026-11-21';
const spent = async () => (await state.checkpoint.spending('nightly', 'r1', day)).run;

it('is known of an upload that was accepted', async () => {
  const { checkpoint } = state;
  await checkpoint.recordCut('r1', sampleChunk(1));
  await checkpoint.recordIntent('r1', 1, fileName, 1, sampleBudget());
  silent.network.loseAnswer('SELECT 1');
  await checkpoint.recordAccepted('r1', 1, { folio: 'F-1', serviceRecords: 10, rehearsal: false }, 9);
  expect(await checkpoint.chunk('r1', 1)).toMatchObject({ state: 'submitted', folio: 'F-1' });
});

it('is known of an upload that was accepted, however often an answer is lost', async () => {
  const { checkpoint } = state;
  await checkpoint.recordCut('r1', sampleChunk(1));
  await checkpoint.recordIntent('r1', 1, fileName, 1, sampleBudget());
  silent.network.loseAnswer('SELECT', 3);
  await checkpoint.recordAccepted('r1', 1, { folio: 'F-1', serviceRecords: 10, rehearsal: false }, 9);
  expect(await checkpoint.chunk('r1', 1)).toMatchObject({ state: 'submitted', folio: 'F-1' });
});

it.each([
  ['one statement', {}, 'SELECT 1'],
  ['a transaction', { perRun: 100 }, 'COMMIT'],
])('is taken back of an upload that was only intended, in %s: nothing was sent', async (_, caps, answer) => {
  const { checkpoint } = state;
  for (const chunk of [1, 2]) await checkpoint.recordCut('r1', sampleChunk(chunk));
  // Another chunk, which is being sent at the same time.
  await checkpoint.recordIntent('r1', 2, fileName, 1, sampleBudget());
  await checkpoint.recordDropped('r1', 2, 1);
  await checkpoint.recordIntent('r1', 2, fileName, 1, sampleBudget());
  silent.network.loseAnswer(answer);
  const intent = checkpoint.recordIntent('r1', 1, fileName, 1, sampleBudget(caps));
  await expect(intent).rejects.toMatchObject({ code: 'STATE_DATABASE_LOST' });
  expect(await checkpoint.chunk('r1', 1)).toMatchObject({ state: 'cut', attempt: 1 });
  expect(await checkpoint.attempts('r1', 1)).toMatchObject([{ attempt: 1, state: 'dropped' }]);
  expect(await checkpoint.chunk('r1', 2)).toMatchObject({ state: 'uploading', attempt: 2 });
  expect(await spent()).toBe(10);
  expect(await checkpoint.recordIntent('r1', 1, fileName, 2, sampleBudget())).toMatchObject({ attempt: 2 });
});

it.each([
  [
    'a change of the run',
    'COMMIT',
    (): Promise<unknown> => {
      return state.checkpoint.recordIntent('r1', 1, fileName, 1, sampleBudget({ perRun: 100 }));
    },
  ],
  ['what the account has learned', 'UPDATE 1', () => account.permits.ended()],
])(
  'ends the process as one without its lease, if it was paused beyond the end of that, in %s',
  async (_, answer, change) => {
    await state.checkpoint.recordCut('r1', sampleChunk(1));
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      const lock = await state.lock.take('nightly', { pid: 4242, command: 'foliopipe run', since: 1 });
      account = state.account({
        service: 'https://predict.example',
        pipeline: 'nightly',
        folios: 2,
        perSecond: 9,
      });
      await account.permits.ask(['r1 1']);
      silent.network.loseAnswer(answer);
      const changed = change();
      vi.advanceTimersByTime(31_000);
      await expect(changed).rejects.toMatchObject({ code: 'LEASE_LOST', exitCode: 11 });
      expect(lock.lost?.reason).toMatchObject({ code: 'LEASE_LOST' });
      await lock.close();
    } finally {
      vi.useRealTimers();
    }
  },
);

it('is known of an upload that was refused, which is refunded once', async () => {
  const { checkpoint } = state;
  await checkpoint.recordCut('r1', sampleChunk(1));
  await checkpoint.recordIntent('r1', 1, fileName, 1, sampleBudget());
  silent.network.loseAnswer('SELECT 1');
  await checkpoint.recordDropped('r1', 1, 9);
  expect(await checkpoint.chunk('r1', 1)).toMatchObject({ state: 'cut' });
  expect(await spent()).toBe(0);
  await expect(checkpoint.recordDropped('r1', 1, 9)).rejects.toThrow(/no chunk 1 of run r1/);
});

it('is taken back of searches that were only intended: nothing was sent', async () => {
  const { checkpoint } = state;
  const single = { id: 's1', pipeline: 'nightly', service: 'https://predict.example', startedAt: 1 };
  const intents = [
    () => checkpoint.recordSearchIntent('r1', 7, 1, sampleBudget()),
    () => checkpoint.recordSingleSearchIntent(single, sampleBudget()),
  ];
  for (const intent of intents) {
    silent.network.loseAnswer('COMMIT');
    await expect(intent()).rejects.toMatchObject({ code: 'STATE_DATABASE_LOST' });
  }
  expect(await checkpoint.searches('r1', 0, 9)).toMatchObject([{ record: 7, state: 'dropped' }]);
  expect(await checkpoint.singleSearches('nightly', '', 9)).toMatchObject([{ id: 's1', state: 'dropped' }]);
  expect((await checkpoint.spending('nightly', 'r1', day)).day).toBe(0);
  await checkpoint.recordSearchIntent('r1', 7, 2, sampleBudget());
});

it('is known of a search of a run, which is refunded once', async () => {
  const { checkpoint } = state;
  for (const record of [7, 8]) await checkpoint.recordSearchIntent('r1', record, 1, sampleBudget());
  const values = { code: '722511' };
  silent.network.loseAnswer('COMMIT');
  await checkpoint.recordSearchEnd('r1', 7, { state: 'answered', values });
  silent.network.loseAnswer('COMMIT');
  await checkpoint.recordSearchEnd('r1', 8, { state: 'dropped' });
  expect(await checkpoint.searches('r1', 0, 9)).toMatchObject([
    { record: 7, state: 'answered', values },
    { record: 8, state: 'dropped' },
  ]);
  expect(await spent()).toBe(1);
  await expect(checkpoint.recordSearchEnd('r1', 8, { state: 'dropped' })).rejects.toThrow(/not asking/);
});

it('is known of a search of no run, which is refunded once', async () => {
  const { checkpoint } = state;
  const search = { pipeline: 'nightly', service: 'https://predict.example', startedAt: 1 };
  for (const id of ['s1', 's2']) {
    await checkpoint.recordSingleSearchIntent({ id, ...search }, sampleBudget());
  }
  silent.network.loseAnswer('COMMIT');
  await checkpoint.recordSingleSearchEnd('s1', { state: 'answered', local: false });
  silent.network.loseAnswer('COMMIT');
  await checkpoint.recordSingleSearchEnd('s2', { state: 'dropped' });
  expect(await checkpoint.singleSearches('nightly', '', 9)).toMatchObject([
    { id: 's1', state: 'answered' },
    { id: 's2', state: 'dropped' },
  ]);
  expect((await checkpoint.spending('nightly', 'r1', day)).day).toBe(1);
});

it.each([
  ['of the first piece of a part', 'INSERT 0 1'],
  // The answer that names a column.
  ['of the name of a part', 'file\0'],
])('is known %s, which is stored once', async (_, answer) => {
  const files = await createPostgresParts(state.openParts, state.fence).ofRun('r1');
  const pieces = Array.from({ length: 3 }, () => randomBytes(1_200_000));
  const part = { fileStatus: 'SUCCESSFUL', part: 0 } as const;
  silent.network.loseAnswer(answer);
  const stored = { ...part, ...(await files.writePart(1, part, pieces)), records: 1 };
  expect((await readWhole(files.readPart(1, stored))).equals(Buffer.concat(pieces))).toBe(true);
  expect(await silent.database.query('SELECT piece FROM foliopipe.part_pieces')).toHaveLength(3);
});

it('is read again where the connection is lost within the bytes of a part', async () => {
  const files = await createPostgresParts(state.openParts, state.fence).ofRun('r1');
  const pieces = Array.from({ length: 3 }, () => randomBytes(1_200_000));
  const part = { fileStatus: 'SUCCESSFUL', part: 0 } as const;
  const stored = { ...part, ...(await files.writePart(1, part, pieces)), records: 1 };
  silent.network.loseAnswer('COPY 1');
  expect((await readWhole(files.readPart(1, stored))).equals(Buffer.concat(pieces))).toBe(true);
  silent.network.loseAnswer('COPY 1');
  expect((await readWhole(files.readPart(1, stored))).equals(Buffer.concat(pieces))).toBe(true);
});
