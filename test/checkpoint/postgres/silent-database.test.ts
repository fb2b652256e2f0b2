/** A database that gives no answer, while the connection to it seems to be open. */
import { afterEach, expect, it, vi } from 'vitest';
import { createLeases } from '../../../src/checkpoint/postgres/lease.js';
import { openState, openStateConnection } from '../../helpers/postgres/postgres-state.js';
import { useSilentNetwork } from '../../helpers/postgres/silent-network.js';

const silent = useSilentNetwork();

afterEach(() => void vi.useRealTimers());

const holder = { pid: 4242, command: 'foliopipe run', since: 0 };

it('is not waited for when a state is closed', async () => {
  const state = await openState(silent.network.database);
  await state.checkpoint.runs();
  silent.network.lose();
  await state.close();
}, 20_000);

it('is not waited for when a lease is given back', async () => {
  const db = await openStateConnection(silent.network.database);
  let hear: (trouble: unknown) => void = () => undefined;
  const heard = new Promise((resolve) => {
    hear = resolve;
  });
  const times = { lease: 5_000, renew: 500 };
  const lock = await createLeases(async () => db, { held: undefined }, times, hear).take('nightly', holder);
  silent.network.lose();
  await heard;
  await lock.close();
  await db.close();
}, 20_000);

it('ends a lease with what has happened to the database, and not as if the process had been paused', async () => {
  const db = await openStateConnection(silent.network.database);
  const lock = await createLeases(async () => db, { held: undefined }, { lease: 3_000, renew: 500 }).take(
    'nightly',
    holder,
  );
  silent.network.lose();
  await vi.waitUntil(() => lock.lost?.aborted, { timeout: 15_000 });
  expect(lock.lost?.reason).toMatchObject({
    code: 'STATE_DATABASE_LOST',
    message: expect.stringMatching(/gives no answer/),
  });
  await lock.close();
  await db.close();
}, 30_000);

it('does not take a lease from a process whose connection is dead, where a new one is answered', async () => {
  const db = await openStateConnection(silent.network.database, { answerMs: 1_000 });
  const lock = await createLeases(async () => db, { held: undefined }, { lease: 6_000, renew: 500 }).take(
    'nightly',
    holder,
  );
  const until = async () =>
    (await silent.database.query('SELECT until FROM foliopipe.leases'))[0]!.until as Date;
  silent.network.loseConnections();
  const before = await until();
  await vi.waitUntil(async () => (await until()) > before, { timeout: 15_000 });
  expect(lock.lost?.aborted).toBe(false);
  await lock.close();
  await db.close();
}, 30_000);

it('has the lease of a machine that was paused as a whole, whose processes have missed no time', async () => {
  const db = await openStateConnection(silent.network.database);
  const take = () =>
    createLeases(async () => db, { held: undefined }, { lease: 30_000, renew: 10_000 }).take(
      'nightly',
      holder,
    );
  const first = await take();
  await silent.database.query("UPDATE foliopipe.leases SET until = now() - interval '1 second'");
  const second = await take();
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
  expect([first.isHeld?.(), second.isHeld?.()]).toEqual([false, false]);
  await expect(first.expectHeld?.()).rejects.toMatchObject({ code: 'LEASE_LOST' });
  vi.useRealTimers();
  await expect(second.expectHeld?.()).resolves.toBeUndefined();
  expect([first.isHeld?.(), second.isHeld?.()]).toEqual([false, true]);
  for (const one of [first, second]) await one.close();
  await db.close();
});

it('has the lease of a machine that was paused before it has read that it has it', async () => {
  const db = await openStateConnection(silent.network.database);
  const query: typeof db.query = async (asked, ...rest) => {
    const rows = await db.query(asked, ...rest);
    if (asked.text.includes('SKIP LOCKED')) vi.setSystemTime(Date.now() + 60_000);
    return rows;
  };
  const take = (session: typeof db) =>
    createLeases(async () => session, { held: undefined }, { lease: 30_000, renew: 10_000 }).take(
      'nightly',
      holder,
    );
  vi.useFakeTimers({ toFake: ['Date'] });
  const first = await take({ ...db, query });
  await silent.database.query("UPDATE foliopipe.leases SET until = now() - interval '1 second'");
  const second = await take(db);
  await expect(first.expectHeld?.()).rejects.toMatchObject({ code: 'LEASE_LOST' });
  await expect(second.expectHeld?.()).resolves.toBeUndefined();
  vi.useRealTimers();
  for (const one of [first, second]) await one.close();
  await db.close();
});

it('keeps no row of an output that is free, and no later holder has the number of an earlier one', async () => {
  const state = await openState(silent.database);
  const rows = () => silent.database.query('SELECT pipeline, fence FROM foliopipe.leases');
  const first = await state.outputs.take('/out/2026-11-26.csv', holder);
  await silent.database.query("UPDATE foliopipe.leases SET until = now() - interval '1 second'");
  await (await state.outputs.take('/out/2026-11-26.csv', holder)).close();
  expect(await rows()).toEqual([]);
  const last = await state.outputs.take('/out/2026-11-26.csv', holder);
  // The process that had it first was paused.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
  await expect(first.expectHeld?.()).rejects.toMatchObject({
    code: 'LEASE_LOST',
    message: expect.stringContaining('the lease of the output /out/2026-11-26.csv: '),
  });
  vi.useRealTimers();
  await last.expectHeld?.();
  for (const one of [first, last]) await one.close();
  expect(await rows()).toEqual([]);
  await state.close();
});
