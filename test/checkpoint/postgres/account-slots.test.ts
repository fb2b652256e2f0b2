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

async function openLimiter(pipeline: string, perSecond: number): Promise<SharedLimiter> {
  const state = await openState(database);
  opened.push(state);
  await state.lock.take(pipeline, { pid: 1, command: 'foliopipe run', since: 0 });
  const { slots } = state.account({ service: 'https://service.test', pipeline, folios: 1, perSecond });
  return new SharedLimiter(slots, perSecond, monotonic);
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
  const inSecond = sent.map((from) => sent.filter((time) => time >= from && time < from + 1000).length);
  expect(Math.max(...inSecond)).toBeLessThanOrEqual(allowed);
  // It is told at once, by way of the database.
  expect(sent.filter((time) => time > pausedAt + 300 && time < pausedAt + 1000)).toEqual([]);
});
