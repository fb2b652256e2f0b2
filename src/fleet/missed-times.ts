/**
 * Times of schedules at which no worker was alive. pg-boss makes a job of a time only within its minute. The jobs, which
 * are kept for a week, show whether one was made for the last time of a schedule.
 */
import type { FleetTables, SeenSchedule } from '../checkpoint/postgres/workers.js';
import type { Logger } from '../logger.js';
import { formatDuration } from '../quantities.js';
import type { Milliseconds } from '../types.js';
import type { JobQueue } from './job-queue.js';
import { DAY_MS, lastTime } from './next-time.js';

/** pg-boss may still make a job of a more recent time. */
const SETTLED_MS = 2 * 60_000;
/** The same while no worker is alive: pg-boss needs one to make a job of a time. */
export const UNWATCHED_SETTLED_MS = 60_000;
/** An older time is not made up for: a run of the night would come far too late. */
const LATEST_MS = DAY_MS;
/** The job of an older time may have been removed. */
const KNOWN_MS = 6 * DAY_MS;

/** The last time of a schedule, at which nothing was begun. */
export interface MissedTime {
  /** Epoch milliseconds. */
  readonly at: number;
  /** Whether a worker makes up for it. */
  readonly isMadeUp: boolean;
}

/**
 * Whether nothing was begun at the last time of a schedule. Only the last one counts: it also does the work of those
 * before it.
 * @param served see `FleetTables`.
 * @param settled how long after a time pg-boss can no longer make its job.
 * @returns null if a job was made, or if there was no time since the schedule was registered.
 */
export function findMissed(
  schedule: SeenSchedule,
  served: number | undefined,
  settled: Milliseconds = SETTLED_MS,
): MissedTime | null {
  const at = timeToServe(schedule, settled);
  if (at === undefined || at <= (served ?? 0)) return null;
  return { at, isMadeUp: schedule.now - at <= LATEST_MS };
}

/** The last time of a schedule since it was registered whose job must have been made, and is not removed yet. */
function timeToServe(
  { cron, timeZone, since, now }: SeenSchedule,
  settled: Milliseconds = SETTLED_MS,
): number | undefined {
  const at = lastTime(cron, timeZone, now - settled);
  return at === undefined || at <= since || now - at > KNOWN_MS ? undefined : at;
}

/**
 * Gives a function that makes a job of the last time of each schedule, if it was missed. Each time becomes one job,
 * however many workers begin at once.
 */
export function createMakeUp(
  queue: Pick<JobQueue, 'makeUp'>,
  tables: Pick<FleetTables, 'schedules' | 'served'>,
  logger: Logger,
): () => Promise<void> {
  /** The last time of each pipeline that was looked at. */
  const settled = new Map<string, number>();
  return async () => {
    const open = (await tables.schedules()).flatMap((schedule) => {
      const at = timeToServe(schedule);
      return at === undefined || settled.get(schedule.pipeline) === at ? [] : [{ schedule, at }];
    });
    // Most calls end here.
    if (open.length === 0) return;
    const served = await tables.served();
    for (const { schedule, at } of open) {
      const { pipeline, now } = schedule;
      const missed = findMissed(schedule, served.get(pipeline));
      if (missed === null) {
        settled.set(pipeline, at);
        continue;
      }
      const { isMadeUp } = missed;
      const what = missedText(pipeline, at, now - at);
      if (!isMadeUp) {
        logger.warn(
          { pipeline, missed: at },
          `${what}, too long to make up for it: foliopipe enqueue begins a run now`,
        );
      } else if (await queue.makeUp(pipeline, at)) {
        logger.warn({ pipeline, missed: at }, `${what}: it is made up for now`);
      }
      settled.set(pipeline, at);
    }
  };
}

/** The text for a job that makes up for a missed time, after the name of its pipeline. */
export function madeUpText(madeUpFor: number | null | undefined): string {
  return madeUpFor == null ? '' : `, in place of ${new Date(madeUpFor).toISOString()}, which was missed`;
}

function missedText(pipeline: string, at: number, age: Milliseconds): string {
  return `${pipeline}: nothing was begun at ${new Date(at).toISOString()}, ${formatDuration(age)} ago: no worker was alive then, or none could reach the database`;
}
