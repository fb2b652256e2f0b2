/** The requests of an account, over connections of their own, as processes have them. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SharedLimiter } from '../../../src/api/shared-limiter.js';
import type { PostgresState } from '../../../src/checkpoint/postgres/open-postgres-state.js';
import { systemClock } from '../../../src/streams/clock.js';
import { type Database, openPostgres, type PostgresServer } from '../../helpers/postgres/postgres.js';
import { openState } from '../../helpers/postgres/postgres-state.js';

let server: PostgresServer;
let database: Database;
const opened: PostgresState[] = [];

beforeAll(async () => {
  server = await openPostgres();
  database = await server.createDatabase();
}, 60_000);
afterAll(async () => {
  for (const state of opened) await state.close();
  await server.close();
});

const monotonic = { now: () => performance.now(), sleep: systemClock.sleep };
const signal = new AbortController().signal;

async function openSlots(pipeline: string, perSecond: number, service = 'https://service.test') {
  const state = await openState(database);
  opened.push(state);
  await state.lock.take(pipeline, { pid: 1, command: 'foliopipe run', since: 0 });
  return state.account({ service, pipeline, folios: 1, perSecond }).slots;
}

async function openLimiter(pipeline: string, perSecond: number): Promise<SharedLimiter> {
  return new SharedLimiter(await openSlots(pipeline, perSecond), perSecond, monotonic);
}

function mostInASecond(times: readonly number[]): number {
  return Math.max(...times.map((from) => times.filter((time) => time >= from && time < from + 1000).length));
}

it('are held to the smallest limit of those that work, and wait for a pause of any of them', async () => {
  const allowed = 40;
  const limiters = [await openLimiter('p0', allowed), await openLimiter('p1', 1000)];
  const sent: number[] = [];
  const send = async (limiter: SharedLimiter) => {
    const written = await limiter.wait(signal, 'track');
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
