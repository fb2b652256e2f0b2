/** The open folios of an account: never more than allowed, each pipeline in its turn, and none forgotten or kept for ever. */
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { permitsContract } from '../../contract/permits-contract.js';
import { sampleBudget } from '../../helpers/checkpoint/samples.js';
import { fileName, SERVICE, useAccount } from '../../helpers/postgres/account-members.js';
import { usePostgres } from '../../helpers/postgres/postgres.js';
import { useStateDatabase } from '../../helpers/postgres/postgres-state.js';

const shared = useStateDatabase(usePostgres());
const { openMember, expectWaiting } = useAccount(shared);

/** A process that does not answer for this long when it is its turn is passed over. */
const PASSED_OVER_MS = 1_000;

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
  // The search counts too.
  await expect(
    other.checkpoint.recordIntent(other.run, 1, fileName, 1, sampleBudget({ perDay: 20 })),
  ).rejects.toMatchObject({ code: 'BUDGET_REACHED', facts: { cap: 'perDay', spent: 11 } });
  await other.checkpoint.recordIntent(other.run, 1, fileName, 1, sampleBudget({ perRun: 10, perDay: 21 }));
});
