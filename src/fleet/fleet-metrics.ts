/** The metrics of a worker and of its fleet for Prometheus. No label has a value from outside. */
import type { Gauge as GaugeOf, Registry as RegistryOf } from 'prom-client';
import type { OpenFleet } from './open-fleet.js';
import { SILENT_MS } from './open-jobs.js';
import type { WorkerStand } from './work.js';

/** @returns the text with its content type. */
export async function fleetMetrics(
  { queue, tables }: Pick<OpenFleet, 'queue' | 'tables'>,
  stand: WorkerStand,
): Promise<{ readonly type: string; readonly text: string }> {
  // Loaded only where it is asked for.
  const { Gauge, Registry } = await import('prom-client');
  const registry = new Registry();
  const add = (name: string, help: string, value: number, labels: Readonly<Record<string, string>> = {}) =>
    gauge(registry, Gauge, `foliopipe_${name}`, help, Object.keys(labels)).set(labels, value);
  const now = Date.now();
  const [workers, waiting, letters] = [
    await tables.workers(),
    await queue.waiting(),
    await queue.deadLetters(),
  ];
  const due = waiting.filter(({ from }) => from <= now);
  add('worker_runs', 'Runs that this worker does now.', stand.pipelines.length);
  add('worker_draining', '1 if this worker takes no more jobs.', Number(stand.isDraining));
  for (const [kind, count] of Object.entries(stand.ended)) {
    const help = 'Runs of this worker that have ended: done, to be done again, or waiting for a person.';
    add('worker_ended_runs', help, count, { next: kind });
  }
  const alive = workers.filter(({ silentMs }) => silentMs < SILENT_MS);
  add('fleet_workers', 'Workers of the fleet that live.', alive.length);
  add('fleet_worked_jobs', 'Jobs that a worker has.', (await queue.worked()).length);
  add('fleet_due_jobs', 'Jobs that wait for a free worker.', due.length);
  add(
    'fleet_oldest_due_job_seconds',
    'For how long the oldest of them has waited.',
    Math.max(0, ...due.map(({ from }) => (now - from) / 1000)),
  );
  add(
    'fleet_repeated_jobs',
    'Jobs that are done once more after temporary trouble.',
    waiting.filter(({ job }) => job.trouble !== undefined).length,
  );
  add('fleet_dead_letters', 'Runs that wait for a person.', letters.length);
  return { type: registry.contentType, text: await registry.metrics() };
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
