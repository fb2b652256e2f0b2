/** A monitor gets the metrics of a worker also while the database is away. */
import { expect, it } from 'vitest';
import { fleetMetrics } from '../../src/fleet/fleet-metrics.js';
import type { OpenFleet } from '../../src/fleet/open-fleet.js';

const ended = { done: 3, again: 0, person: 0 };
const never = () => new Promise<never>(() => undefined);
const failing = async () => {
  throw new Error('away');
};

it.each([
  ['has been silent', never, 30_000],
  ['has just gone', failing, 0],
])('when the database %s', async (_, ask, silentMs) => {
  const away = { queue: { waiting: ask }, tables: { workers: ask } } as unknown as OpenFleet;
  const { text } = await fleetMetrics(away, { pipelines: ['a'], isDraining: false, silentMs, ended });
  expect(text).toContain('foliopipe_worker_runs 1');
  expect(text).toContain(`foliopipe_worker_database_silent_seconds ${silentMs / 1000}`);
  expect(text).not.toContain('foliopipe_fleet_');
});
