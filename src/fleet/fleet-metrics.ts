/** The metrics of a worker and of its fleet for Prometheus. No label has a value from outside. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Gauge as GaugeOf, Registry as RegistryOf } from 'prom-client';
import { isAlive } from '../checkpoint/postgres/workers.js';
import type { OpenFleet } from './open-fleet.js';
import type { WorkerStatus } from './work.js';

/** @returns the text with its content type. If the database does not answer soon, the counts of the fleet are left out. */
export async function fleetMetrics(
  { queue, tables }: Pick<OpenFleet, 'queue' | 'tables'>,
  worker: WorkerStatus,
): Promise<{ readonly type: string; readonly text: string }> {
  // Loaded only when metrics are asked for.
  const { Gauge, Registry } = await import('prom-client');
  const registry = new Registry();
  const add = (name: string, help: string, value: number, labels: Readonly<Record<string, string>> = {}) =>
    gauge(registry, Gauge, `foliopipe_${name}`, help, Object.keys(labels)).set(labels, value);
  add('worker_runs', 'Runs that this worker does now.', worker.pipelines.length);
  add('worker_draining', '1 if this worker takes no more jobs.', Number(worker.isDraining));
  for (const [kind, count] of Object.entries(worker.ended)) {
    const help = 'Runs of this worker that have ended: done, to be done again, or waiting for a person.';
    add('worker_ended_runs', help, count, { next: kind });
  }
  const silentFor = 'For how long the database has not answered this worker.';
  add('worker_database_silent_seconds', silentFor, worker.silentMs / 1000);
  const counts = worker.silentMs > SOON_MS ? undefined : await soon(readCounts({ queue, tables }));
  if (counts !== undefined) addCounts(add, counts);
  return { type: registry.contentType, text: await registry.metrics() };
}

/** A database that does not answer within this time counts as away: a monitor does not wait longer. */
const SOON_MS = 5_000;

async function soon<T>(asked: Promise<T>): Promise<T | undefined> {
  const answered = new AbortController();
  const late = sleep(SOON_MS, undefined, { signal: answered.signal }).catch(() => undefined);
  try {
    return await Promise.race([asked, late]);
  } catch {
    return undefined;
  } finally {
    answered.abort();
  }
}

async function readCounts({ queue, tables }: Pick<OpenFleet, 'queue' | 'tables'>) {
  return {
    workers: await tables.workers(),
    waiting: await queue.waiting(),
    letters: await queue.deadLetters(),
    worked: await queue.worked(),
  };
}

function addCounts(
  add: (name: string, help: string, value: number) => void,
  { workers, waiting, letters, worked }: Awaited<ReturnType<typeof readCounts>>,
): void {
  const now = Date.now();
  const due = waiting.filter(({ from }) => from <= now);
  const alive = workers.filter(isAlive);
  add('fleet_workers', 'Workers of the fleet that are alive.', alive.length);
  add('fleet_worked_jobs', 'Jobs that a worker works on.', worked.length);
  add('fleet_due_jobs', 'Jobs that wait for a free worker.', due.length);
  add(
    'fleet_oldest_due_job_seconds',
    'For how long the oldest job has waited for a free worker.',
    Math.max(0, ...due.map(({ from }) => (now - from) / 1000)),
  );
  add(
    'fleet_repeated_jobs',
    'Jobs that are done once more after temporary trouble.',
    waiting.filter(({ job }) => job.trouble !== undefined).length,
  );
  add('fleet_dead_letters', 'Runs that wait for a person.', letters.length);
}

function gauge(
  registry: RegistryOf,
  Gauge: typeof GaugeOf,
  name: string,
  help: string,
  labelNames: string[],
): GaugeOf {
  const known = registry.getSingleMetric(name) as GaugeOf | undefined;
  return known ?? new Gauge({ name, help, labelNames, registers: [registry] });
}
