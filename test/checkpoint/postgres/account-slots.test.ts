/** The requests of an account, over connections of their own, as processes have them. */
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SharedLimiter } from '../../../src/api/shared-limiter.js';
import type { PostgresState } from '../../../src/checkpoint/postgres/open-postgres-state.js';
import { systemClock } from '../../../src/streams/clock.js';
import type { RequestSlots } from '../../../src/streams/request-slots.js';
import { requestLimiterContract } from '../../contract/request-limiter-contract.js';
import { mostInASecond } from '../../helpers/api/slot-account.js';
import { noSignal } from '../../helpers/api/test-client.js';
import { type Database, usePostgres } from '../../helpers/postgres/postgres.js';
import { openState } from '../../helpers/postgres/postgres-state.js';

const server = usePostgres();
let database: Database;
const opened: PostgresState[] = [];

beforeAll(async () => {
  database = await server.createDatabase();
});
afterAll(async () => {
  for (const state of opened) await state.close();
});

const monotonic = { now: () => performance.now(), sleep: systemClock.sleep };

const SERVICE = 'https://service.test';

async function openSlots(pipeline: string, perSecond: number, service = SERVICE): Promise<RequestSlots> {
  const state = await openState(database);
  opened.push(state);
  await state.lock.take(pipeline, { pid: 1, command: 'foliopipe run', since: 0 });
  return state.account({ service, pipeline, folios: 1, perSecond }).slots;
}

async function openLimiter(pipeline: string, perSecond: number, service = SERVICE): Promise<SharedLimiter> {
  return new SharedLimiter(await openSlots(pipeline, perSecond, service), perSecond, monotonic);
}

it('are held to the smallest limit of those that work, and wait for a pause of any of them', async () => {
  const allowed = 40;
  const limiters = [await openLimiter('p0', allowed), await openLimiter('p1', 1000)];
  const sent: number[] = [];
  const send = async (limiter: SharedLimiter) => {
    const written = await limiter.wait(noSignal, 'track');
    await written();
    sent.push(performance.now());
  };
  // The first one makes its limit known.
  await send(limiters[0]!);
  const each = [0, 1].flatMap((at) => Array.from({ length: 30 }, () => send(limiters[at]!)));
  await expect.poll(() => sent.length).toBeGreaterThan(20);
  limiters[1]!.pause(1_000);
  const pausedAt = performance.now();
  await Promise.all(each);
  expect(mostInASecond(sent)).toBeLessThanOrEqual(allowed);
  // It is told at once, by way of the database.
  expect(sent.filter((time) => time > pausedAt + 300 && time < pausedAt + 1000)).toEqual([]);
});

let services = 0;
requestLimiterContract('of an account in Postgres', {
  open: (perSecond) => {
    const service = `https://service-${services++}.test`;
    return Promise.all([0, 1].map((nth) => openLimiter(`${service} ${nth}`, perSecond, service)));
  },
  pass: async (time) => void (await sleep(time)),
});

it('slots that are given back by their ends leave those of others, and one that was missed is exchanged at once', async () => {
  const slots = await openSlots('exchange', 2, 'https://exchange.test');
  const take = (count: number, unused: readonly number[] = []) =>
    slots.take({ count, span: 1000, lasts: 10, lastsAlone: 10, unused, onSend: () => undefined });
  const [first, second] = (await take(2)).ends;
  expect(second! - first!).toBeCloseTo(250, 0);
  // Both count: the third follows a second after the first.
  const third = await take(1);
  expect(third.ends[0]! - third.lasts - first!).toBeCloseTo(1000, 0);
  await sleep(300);
  // The second one has passed unused: one takes its place now, and the third keeps its time.
  const instead = await take(1, [second!]);
  expect(instead.ends[0]! - instead.lasts - instead.answeredAt).toBeLessThanOrEqual(0);
  const fourth = await take(1, [second!]);
  expect(fourth.ends[0]! - fourth.lasts - instead.ends[0]!).toBeCloseTo(1000, 0);
});

it('one that was missed is not exchanged at once where those after it fill a second', async () => {
  const span = 60_000;
  const slots = await openSlots('full', 1, 'https://full.test');
  const take = (...unused: number[]) =>
    slots.take({ count: 1, span, lasts: 1, lastsAlone: 1, unused, onSend: () => undefined });
  const missed = (await take()).ends[0]!;
  const next = (await take()).ends[0]!;
  // The server has the clock of this machine.
  await expect.poll(() => Date.now()).toBeGreaterThan(missed + 1);
  const [instead] = (await take(missed)).ends;
  expect(instead! - next).toBeGreaterThanOrEqual(span);
});

it('slots of many connections that take and miss them at once are never too many in a second', async () => {
  const [perSecond, span, connections, each] = [60, 1000, 6, 25];
  const dice = fc.sample(fc.integer({ min: 0, max: 9 }), { numRuns: connections * each, seed: 3 });
  const used: { readonly from: number; readonly end: number }[] = [];
  const work = async (nth: number) => {
    const slots = await openSlots(`many-${nth}`, perSecond, 'https://many.test');
    let unused: number[] = [];
    for (let slot = 0; slot < each; slot++) {
      const asked = { count: 1, span, lasts: 15, lastsAlone: 100, unused, onSend: () => undefined };
      const { ends, lasts, answeredAt } = await slots.take(asked);
      unused = [];
      const isMissed = dice.pop()! < 3;
      await sleep(Math.max(ends[0]! - answeredAt - (isMissed ? 0 : lasts), 0));
      if (isMissed) unused.push(...ends);
      else used.push(...ends.map((end) => ({ end, from: end - lasts })));
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, nth) => work(nth)));
  const inSecond = used.map(
    ({ end: begin }) => used.filter(({ from, end }) => end >= begin && from < begin + span - 0.01).length,
  );
  expect(used.length).toBeGreaterThan(perSecond);
  expect(Math.max(...inSecond)).toBeLessThanOrEqual(perSecond);
});

it('are held to a small limit that has just come, whoever asks for more of them at once', async () => {
  const service = 'https://slow.test';
  const few = await openSlots('few', 2, service);
  const many = await openSlots('many', 1000, service);
  const asked = { span: 1_020, lasts: 15, lastsAlone: 150, unused: [], onSend: () => undefined };
  const taken = [
    await few.take({ ...asked, count: 1 }),
    await many.take({ ...asked, count: 50 }),
    await many.take({ ...asked, count: 50 }),
    await few.take({ ...asked, count: 1 }),
  ];
  expect(mostInASecond(taken.flatMap(({ ends }) => ends))).toBe(2);
  // The other one waits for two seconds' slots, and not for all that were asked for.
  expect(taken[3]!.ends[0]! - taken[0]!.answeredAt).toBeLessThan(5_000);
});
