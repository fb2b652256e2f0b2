/** What a fleet shows: workers, runs with their leases, waiting jobs, schedules, and runs that wait for a person. */
import type { HeldLease } from '../checkpoint/postgres/lease.js';
import { isAlive, type KnownWorker } from '../checkpoint/postgres/workers.js';
import { type DeadLetter, OF_WORKER, type Trouble } from './job.js';
import { findMissed, type MissedTime, UNWATCHED_SETTLED_MS } from './missed-times.js';
import { nextTime } from './next-time.js';
import type { OpenFleet } from './open-fleet.js';
import { fleetTimes } from './times.js';

export { FORGOTTEN_MS, isAlive } from '../checkpoint/postgres/workers.js';

export interface FleetFacts {
  readonly workers: readonly SeenWorker[];
  /** Runs that are worked on: a worker has their job, or a process holds their lease, or both. */
  readonly runs: readonly WorkedRun[];
  readonly waiting: readonly WaitingRun[];
  readonly schedules: readonly ScheduledRun[];
  /** The oldest first. */
  readonly deadLetters: readonly Pick<DeadLetter, 'pipeline' | 'from' | 'problem'>[];
}

/** A worker that is gone has no state of its own, and no pipelines. */
interface SeenWorker extends Omit<KnownWorker, 'state'> {
  readonly state: KnownWorker['state'] | 'gone';
  readonly isAlive: boolean;
}

export interface WorkedRun {
  readonly pipeline: string;
  /** The process that holds the lease; null while none does. */
  readonly holder: HeldLease['holder'] | null;
  /** How long the lease lasts unless it is renewed, in ms. */
  readonly leaseLeftMs: number | null;
  /** How long ago that process last renewed the lease, in ms; null while it renews it in time. */
  readonly leaseSilentMs: number | null;
  /** Whether it is a job of the fleet, and was not begun by hand. */
  readonly isJob: boolean;
  /** For how long its worker has been silent, in ms; null if it is not silent, and for a run that was begun by hand. */
  readonly workerSilentMs: number | null;
  /** Epoch milliseconds. */
  readonly since: number | null;
  /** The missed time of its schedule for which it makes up, epoch milliseconds; null if there is none. */
  readonly madeUpFor: number | null;
}

export interface WaitingRun {
  readonly pipeline: string;
  /** Epoch milliseconds. */
  readonly since: number;
  /** When a worker may take it, epoch milliseconds. */
  readonly from: number;
  /** Why it is repeated; null for a job that was not begun yet, or was handed back. */
  readonly trouble: Trouble | null;
  /** As in `WorkedRun`. */
  readonly madeUpFor: number | null;
}

interface ScheduledRun {
  readonly pipeline: string;
  readonly schedule: string;
  readonly timeZone: string;
  /** Epoch milliseconds. */
  readonly next: number | null;
  /** The last time, if nothing was begun then. */
  readonly missed: MissedTime | null;
}

export async function readFleet({ queue, tables }: OpenFleet): Promise<FleetFacts> {
  const workers = await tables.workers();
  const leases = await tables.leases();
  const jobs = new Map((await queue.worked()).map((one) => [one.job.pipeline, one]));
  const held = new Map(leases.map((lease) => [lease.pipeline, lease]));
  const served = await tables.served();
  const settled = workers.some(isAlive) ? undefined : UNWATCHED_SETTLED_MS;
  const worked = [...new Set([...held.keys(), ...jobs.keys()])].sort();
  return {
    workers: workers.map((worker) =>
      isAlive(worker)
        ? { ...worker, isAlive: true }
        : { ...worker, isAlive: false, state: 'gone', pipelines: [] },
    ),
    runs: worked.map((pipeline) => ({
      pipeline,
      holder: held.get(pipeline)?.holder ?? null,
      leaseLeftMs: held.get(pipeline)?.leftMs ?? null,
      leaseSilentMs: held.get(pipeline)?.silentMs ?? null,
      // A lost worker loses its job before its lease ends, so the lease also shows that this was a job.
      isJob: jobs.has(pipeline) || held.get(pipeline)?.holder?.command === OF_WORKER,
      workerSilentMs: silentMs(workers, pipeline),
      since: held.get(pipeline)?.holder?.since ?? jobs.get(pipeline)?.since ?? null,
      madeUpFor: jobs.get(pipeline)?.job.madeUpFor ?? null,
    })),
    waiting: (await queue.waiting())
      .map(({ job, since, from }) => ({
        pipeline: job.pipeline,
        since,
        from,
        trouble: job.trouble ?? null,
        madeUpFor: job.madeUpFor ?? null,
      }))
      .sort((a, b) => a.from - b.from),
    schedules: (await tables.schedules()).map((schedule) => ({
      pipeline: schedule.pipeline,
      schedule: schedule.cron,
      timeZone: schedule.timeZone,
      next: nextTime(schedule.cron, schedule.timeZone, schedule.now) ?? null,
      missed: findMissed(schedule, served.get(schedule.pipeline), settled),
    })),
    deadLetters: (await queue.deadLetters())
      .map(({ pipeline, from, problem }) => ({ pipeline, from, problem }))
      .sort((a, b) => a.problem.at - b.problem.at),
  };
}

/** How long the worker of a pipeline has been silent, and of several the one that was heard last; null if it is not. */
function silentMs(workers: readonly KnownWorker[], pipeline: string): number | null {
  const own = workers.filter(({ pipelines }) => pipelines.includes(pipeline));
  const least = Math.min(...own.map((worker) => worker.silentMs));
  return own.length > 0 && isSilent(least) ? least : null;
}

/** Whether a worker has not renewed its row in time. */
export function isSilent(silentMs: number): boolean {
  return silentMs > 2 * fleetTimes().beat;
}
