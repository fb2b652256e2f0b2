/** What monitors get from a worker, over HTTP. */
import type { Server } from 'node:http';
import { connect } from 'node:net';
import { expect, it, vi } from 'vitest';
import type { OpenFleet } from '../../src/fleet/open-fleet.js';
import { openStatusPort } from '../../src/fleet/status-port.js';
import { http } from '../../src/node-http.js';
import { readMetrics } from '../helpers/notify/parse-prometheus.js';

const now = Date.now();
const trouble = { exitCode: 5, code: 'X', message: 'm', hint: null, times: 1, since: 1 };
const fleet = {
  tables: { workers: async () => [0, 29_000, 31_000].map((silentMs) => ({ silentMs })) },
  queue: {
    waiting: async () => [
      { job: {}, from: now - 90_000 },
      { job: { trouble }, from: now - 30_000 },
      { job: { trouble }, from: now + 3_600_000 },
    ],
    deadLetters: async () => [{}, {}, {}, {}],
    worked: async () => [{}, {}, {}, {}, {}],
  },
} as unknown as OpenFleet;

const working = {
  pipelines: ['east', 'west'],
  isDraining: false,
  silentMs: 2_000,
  ended: { done: 3, again: 1, person: 0 },
};

it('shows its health and metrics, and nothing else, and ends while a monitor holds a connection', async () => {
  let worker = working;
  const port = await openStatusPort({ host: '127.0.0.1', port: 0 }, fleet, () => worker);
  const get = async (path: string) => {
    const reply = await fetch(`${port.address}${path}`);
    const { status, headers } = reply;
    return { status, type: headers.get('content-type'), text: await reply.text() };
  };
  const health = async (change: Partial<typeof working>) => {
    worker = { ...working, ...change };
    const { status, type, text } = await get('/healthz?probe=1');
    expect(type).toBe('application/json');
    return [status, JSON.parse(text)];
  };
  try {
    const runs = working.pipelines;
    expect(await health({ silentMs: 60_000 })).toEqual([200, { status: 'ok', runs }]);
    expect(await health({ isDraining: true })).toEqual([200, { status: 'draining', runs }]);
    const silent = { status: 'the database does not answer', runs };
    expect(await health({ silentMs: 60_001, isDraining: true })).toEqual([503, silent]);
    worker = working;
    const { type, text } = await get('/metrics');
    expect(type).toContain('version=0.0.4');
    const { fleet_oldest_due_job_seconds: age, ...metrics } = await readMetrics(text);
    expect(metrics).toEqual({
      worker_runs: 2,
      worker_draining: 0,
      'worker_ended_runs{next=done}': 3,
      'worker_ended_runs{next=again}': 1,
      'worker_ended_runs{next=person}': 0,
      worker_database_silent_seconds: 2,
      fleet_workers: 2,
      fleet_worked_jobs: 5,
      fleet_due_jobs: 2,
      fleet_repeated_jobs: 2,
      fleet_dead_letters: 4,
    });
    expect(age).toBeGreaterThanOrEqual(90);
    expect(age).toBeLessThan(3_600);
    expect(await get('/')).toMatchObject({ status: 404 });
    const taken = openStatusPort({ host: '127.0.0.1', port: port.port }, fleet, () => worker);
    await expect(taken).rejects.toMatchObject({ code: 'WORKER_PORT_TAKEN', exitCode: 2 });
    const held = connect(port.port, '127.0.0.1').on('error', () => undefined);
    const closed = new Promise((resolve) => held.once('close', resolve));
    await new Promise((resolve) => held.write('GET /metrics HTTP/1.1\r\n', resolve));
    await port.close();
    await closed;
    await expect(get('/healthz')).rejects.toThrow();
  } finally {
    await port.close();
  }
});

it('goes on after connections that could not be accepted', async () => {
  const made = vi.spyOn(http, 'createServer');
  const port = await openStatusPort({ host: '127.0.0.1', port: 0 }, fleet, () => working);
  const server: Server = made.mock.results[0]!.value;
  made.mockRestore();
  for (const code of ['ENFILE', 'ENOBUFS']) server.emit('error', Object.assign(new Error(code), { code }));
  expect((await fetch(`${port.address}/healthz`)).status).toBe(200);
  await port.close();
});
