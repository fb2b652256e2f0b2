/** The open folios of an account: never more than allowed, each pipeline in its turn, and none forgotten or kept for ever. */
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { PostgresState } from '../../../src/checkpoint/postgres/open-postgres-state.js';
import { systemClock } from '../../../src/streams/clock.js';
import { type Permits, permitName } from '../../../src/streams/permits.js';
import { createSharedPermits } from '../../../src/streams/shared-permits.js';
import { permitsContract } from '../../contract/permits-contract.js';
import { noSignal } from '../../helpers/api/test-client.js';
import { sampleBudget, sampleChunk, sampleRun } from '../../helpers/checkpoint/samples.js';
import { openPostgres } from '../../helpers/postgres/postgres.js';
import { openState, useStateDatabase } from '../../helpers/postgres/postgres-state.js';

const shared = useStateDatabase(openPostgres);
const opened: PostgresState[] = [];

afterEach(async () => {
  for (const state of opened.splice(0)) await state.close();
});

const SERVICE = 'https://service.test';
const fileName = { before: 'a-', after: '.csv' };
const patience = noSignal;
/** A process that does not answer for this long when it is its turn is passed over. */
const PASSED_OVER_MS = 1_000;

/** A process that works on a pipeline, with so many chunks to send. */
async function openMember(pipeline: string, folios: number, chunks: number) {
  const state = await openState(shared.database);
  opened.push(state);
  await state.lock.take(pipeline, { pid: 1, command: 'foliopipe run', since: 0 });
  const { checkpoint } = state;
  const run = `${pipeline}-run`;
  if ((await checkpoint.run(run)) === undefined) {
    await checkpoint.recordRun(sampleRun(run, { pipeline, service: SERVICE }));
    for (let chunk = 1; chunk <= chunks; chunk++) await checkpoint.recordCut(run, sampleChunk(chunk));
  }
  const { permits: table } = state.account({ service: SERVICE, pipeline, folios, perSecond: 1000 });
  const permits: Permits = createSharedPermits(table, { clock: systemClock, doubtfulFor: 0 });
  const nameOf = (chunk: number) => permitName(run, chunk);
  const intend = (chunk: number) => checkpoint.recordIntent(run, chunk, fileName, 1, sampleBudget());
  const accept = async (chunk: number) => {
    const folio = `${run}-${chunk}`;
    await checkpoint.recordAccepted(run, chunk, { folio, serviceRecords: 10, rehearsal: false }, 2);
    await permits.opened?.(nameOf(chunk));
  };
  return {
    ...{ state, checkpoint, run, pipeline, permits, nameOf, intend, accept },
    acquire: (chunk: number, signal = patience) => permits.acquire(nameOf(chunk), signal),
    send: async (chunk: number) => {
      await intend(chunk);
      await accept(chunk);
    },
    finish: async (chunk: number) => {
      await checkpoint.recordFinished(run, chunk, { successful: 10, failed: 0 }, [], 3);
      await permits.release(nameOf(chunk));
    },
    /** The process is gone; its lease ends. */
    die: () =>
      shared.database.query(
        "UPDATE foliopipe.leases SET until = now() - interval '1 second' WHERE pipeline = $1",
        [pipeline],
      ),
  };
}

/** Waits until a pipeline has asked in vain: it stands in the line since this call. */
async function expectWaiting(pipeline: string): Promise<void> {
  const [now] = await shared.database.query('SELECT clock_timestamp()::text AS at');
  const inLine = () =>
    shared.database.query(
      `SELECT 1 FROM foliopipe.account_pipelines
       WHERE pipeline = $1 AND waits_since IS NOT NULL AND asks_by > $2::timestamptz`,
      [pipeline, now!.at],
    );
  await expect.poll(inLine).toHaveLength(1);
}

permitsContract('of an account', async (count) => {
  const one = await openMember('one', count, 9);
  return {
    ...one,
    begin: async (chunk) => void (await one.intend(chunk)),
    drop: (chunk) => one.checkpoint.recordDropped(one.run, chunk, 4),
    waits: () => expectWaiting('one'),
  };
});

describe('permits of an account', () => {
  it('are never more than allowed, and go round', async () => {
    const [limit, pipelines, rounds] = [3, 6, 8];
    const turns: string[] = [];
    const waits: { readonly others: number; readonly ms: number }[] = [];
    const times = fc.sample(fc.integer({ min: 0, max: 30 }), { numRuns: pipelines * rounds, seed: 7 });
    let [open, most, next] = [0, 0, 0];
    const members = [await openMember('p0', limit, rounds)];
    // The smallest wish of all holds, from the first question on.
    const [first] = members;
    expect(await first!.acquire(1)).toBe(true);
    await first!.permits.release(first!.nameOf(1));
    for (let at = 1; at < pipelines; at++) members.push(await openMember(`p${at}`, 50, rounds));
    await Promise.all(
      members.map(async ({ acquire, send, finish, pipeline }) => {
        for (let chunk = 1; chunk <= rounds; chunk++) {
          const [before, began] = [turns.length, performance.now()];
          expect(await acquire(chunk)).toBe(true);
          waits.push({ others: turns.length - before, ms: performance.now() - began });
          turns.push(pipeline);
          most = Math.max(most, ++open);
          await send(chunk);
          await sleep(times[next++]);
          open -= 1;
          await finish(chunk);
        }
      }),
    );
    expect(most).toBe(limit);
    // A machine that was busy for so long may have kept a process from answering.
    const kept = waits.filter(({ ms }) => ms < PASSED_OVER_MS).map(({ others }) => others);
    expect(Math.max(...kept), turns.join(' ')).toBeLessThanOrEqual(2 * (pipelines - 1));
  });

  it('stay with the folios of a process that dies, and come back when another one has finished them', async () => {
    const first = await openMember('dying', 3, 3);
    for (const chunk of [1, 2, 3]) expect(await first.acquire(chunk)).toBe(true);
    await first.send(1);
    await first.intend(2);
    const other = await openMember('other', 3, 4);
    const waiting = other.acquire(1);
    await expectWaiting('other');
    // The third chunk was not sent: nobody can send it under this lease.
    await first.die();
    expect(await waiting).toBe(true);
    const next = other.acquire(2);
    await expectWaiting('other');

    const second = await openMember('dying', 3, 3);
    expect(await second.checkpoint.recordInterrupted(second.run)).toBe(1);
    // It holds what it goes on with: an open folio, and a chunk in doubt until that is decided.
    for (const chunk of [1, 2]) expect(await second.acquire(chunk)).toBe(true);
    await expectWaiting('other');
    await second.permits.opened?.(second.nameOf(1));
    await second.finish(1);
    expect(await next).toBe(true);
    const last = other.acquire(3);
    await expectWaiting('other');
    await second.checkpoint.recordUnprocessed(second.run, 2, 'AMBIGUOUS_HELD');
    await second.permits.release(second.nameOf(2));
    expect(await last).toBe(true);
    for (const chunk of [1, 2, 3]) {
      await other.send(chunk);
      await other.finish(chunk);
    }
    const all = await openMember('last', 3, 3);
    for (const chunk of [1, 2, 3]) expect(await all.acquire(chunk)).toBe(true);
  });

  it('pass over a pipeline whose process does not answer when it is its turn', async () => {
    const [holder, stopped, other] = [
      await openMember('holder', 1, 2),
      await openMember('stopped', 1, 1),
      await openMember('other', 1, 1),
    ];
    await holder.acquire(1);
    await holder.send(1);
    const controller = new AbortController();
    stopped.acquire(1, controller.signal).catch(() => undefined);
    await expectWaiting('stopped');
    const waiting = other.acquire(1);
    await expectWaiting('other');
    // It stands in the line, and asks no more.
    controller.abort();
    await holder.finish(1);
    expect(await waiting).toBe(true);
  });

  it('of a run that was given up do not count', async () => {
    const one = await openMember('one', 1, 1);
    await one.acquire(1);
    await one.send(1);
    await one.checkpoint.recordSuperseded(one.run, 9);
    expect(await (await openMember('other', 1, 1)).acquire(1)).toBe(true);
  });

  it('that chunks in doubt alone hold make their run decide', async () => {
    const one = await openMember('one', 1, 2);
    await one.acquire(1);
    await one.intend(1);
    await one.checkpoint.recordAmbiguous(one.run, 1, 3, 'no-reply');
    await one.permits.release(one.nameOf(1));
    expect(await one.acquire(2)).toBe('doubtful');
    // To send it again, it has its permit.
    expect(await one.acquire(1)).toBe(true);
  });

  it('are fewer for all pipelines when the service refuses to open more', async () => {
    const [one, other] = [await openMember('one', 9, 4), await openMember('other', 9, 4)];
    for (const chunk of [1, 2, 3]) await one.acquire(chunk);
    for (const chunk of [1, 2]) await one.send(chunk);
    await one.intend(3);
    expect(await one.permits.refused?.(one.nameOf(3))).toBe(true);
    // It asks again alone.
    const waiting = other.acquire(1);
    await expectWaiting('other');
    expect(await one.permits.refused?.(one.nameOf(3))).toBe(false);
    await one.checkpoint.recordDropped(one.run, 3, 4);
    await one.permits.release(one.nameOf(3));
    await expectWaiting('other');
    await one.finish(1);
    expect(await waiting).toBe(true);
    // As many as the service has admitted are open.
    void other.acquire(2, AbortSignal.timeout(60_000)).catch(() => undefined);
    await expectWaiting('other');
  });
});

it('the caps of a day and of a month hold for all pipelines of an account together, and for no other', async () => {
  const [one, other] = [await openMember('one', 9, 2), await openMember('other', 9, 2)];
  await one.intend(1);
  const { day } = sampleBudget();
  const spent = await other.checkpoint.spending('other', other.run, day, SERVICE);
  expect(spent).toEqual({ run: 0, day: 10, month: 10 });
  expect(await other.checkpoint.spending('other', null, day)).toEqual({ run: 0, day: 0, month: 0 });
  for (const cap of ['perDay', 'perMonth']) {
    await expect(
      other.checkpoint.recordIntent(other.run, 1, fileName, 1, sampleBudget({ [cap]: 19 })),
    ).rejects.toMatchObject({ code: 'BUDGET_REACHED', facts: { cap, spent: 10 } });
  }
  const search = (service: string, perDay: number) =>
    other.checkpoint.recordSingleSearchIntent(
      { id: `${service}-${perDay}`, pipeline: 'searches', service, startedAt: 1 },
      sampleBudget({ perDay }),
    );
  await expect(search(SERVICE, 10)).rejects.toMatchObject({ code: 'BUDGET_REACHED' });
  await search(SERVICE, 11);
  await search('https://elsewhere.test', 2);
  await other.checkpoint.recordIntent(other.run, 1, fileName, 1, sampleBudget({ perRun: 10, perDay: 21 }));
});
