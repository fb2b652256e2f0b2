/** The operations on jobs. Each method may be interrupted: calling it again finishes the rest. */
import { createHash } from 'node:crypto';
import type { Milliseconds } from '../types.js';
import { type DeadLetter, isDeadLetter, isRunJob, type RunJob, type Trouble } from './job.js';
import type { Boss, BossJob } from './pg-boss.js';

/** A job that this worker was given. */
export interface TakenJob {
  readonly id: string;
  readonly job: RunJob;
  /** Distinguishes this hand-out from a later one of the same job. */
  readonly turn: number;
}

/** A job that waits. */
interface WaitingJob {
  readonly job: RunJob;
  /** Epoch milliseconds. */
  readonly since: number;
  /** When it may be taken, epoch milliseconds. */
  readonly from: number;
}

/** A job that a worker has, or had when it was lost. */
interface WorkedJob {
  readonly job: RunJob;
  /** Epoch milliseconds. */
  readonly since: number;
}

interface Schedule {
  readonly pipeline: string;
  readonly cron: string;
  readonly timeZone: string;
}

export interface JobQueue {
  /**
   * Makes a job of a run, to be done at once. If a job of the pipeline waits already, that one gets this config and waits
   * no longer. Removes the dead letter of the pipeline.
   * @returns `behind` if a worker works on a job of the pipeline: this one is done when that one has ended.
   */
  enqueue(job: RunJob): Promise<'enqueued' | 'waiting' | 'behind'>;
  /**
   * Makes a job of a missed time of a schedule. Idempotent: each time becomes one job.
   * @param at epoch milliseconds.
   * @returns whether it was made: not if a job of the pipeline waits, or the schedule is gone.
   */
  makeUp(pipeline: string, at: number): Promise<boolean>;
  /** @param most how many at most. */
  take(most: number): Promise<readonly TakenJob[]>;
  /** Reports that the worker of these jobs is alive. */
  touch(ids: readonly string[]): Promise<void>;
  /** Ends a job whose run is over, and removes the dead letter of its pipeline. */
  complete(taken: TakenJob, exitCode: number): Promise<void>;
  /** Gives a job back. @param after how long to wait. */
  giveBack(taken: TakenJob, after: Milliseconds, trouble: Trouble | undefined): Promise<void>;
  /** Ends a job, and keeps it with its problem as a dead letter, for a person. */
  bury(taken: TakenJob, problem: DeadLetter['problem']): Promise<void>;
  waiting(): Promise<readonly WaitingJob[]>;
  worked(): Promise<readonly WorkedJob[]>;
  deadLetters(): Promise<readonly DeadLetter[]>;
  /** Begins the run at these times from now on, in place of those of an earlier schedule. */
  schedule(job: RunJob, cron: string, timeZone: string): Promise<void>;
  schedules(): Promise<readonly Schedule[]>;
  /** @returns whether there was a schedule. */
  unschedule(pipeline: string): Promise<boolean>;
  /** Removes the dead letter of a pipeline, and leaves its schedule. @returns whether there was one. */
  dismiss(pipeline: string): Promise<boolean>;
  /** Removes the waiting job, the schedule and the dead letter of a pipeline. @returns what was removed. */
  remove(pipeline: string): Promise<readonly ('job' | 'schedule' | 'dead letter')[]>;
}

/** The id of the job of a missed time: a UUID made from a hash, always the same for one time of a pipeline. */
function idOfTime(pipeline: string, at: number): string {
  const hex = createHash('sha256').update(`${pipeline} ${at}`).digest('hex');
  const groups = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`];
  return [...groups, hex.slice(20, 32)].join('-');
}

const RUNS = 'runs';
const DEAD = 'dead-letters';

/** After this time, a job that this worker does not understand may be taken again, by a worker that does. */
const OF_OTHERS_MS: Milliseconds = 60_000;

/**
 * @param asked translates the errors of the database.
 * @param warn gets a job that another version of foliopipe has written.
 */
export function createJobQueue(
  boss: Boss,
  asked: <T>(work: Promise<T>) => Promise<T>,
  warn: (what: { readonly message: string }) => void,
): JobQueue {
  const find = (queue: string, options: Parameters<Boss['findJobs']>[1] = {}) =>
    asked(boss.findJobs(queue, options));
  const remove = async (queue: string, key: string): Promise<boolean> => {
    const ids = (await find(queue, { key, queued: true })).map(({ id }) => id);
    if (ids.length > 0) await asked(boss.deleteJob(queue, ids));
    return ids.length > 0;
  };
  /** @param after how long it waits. */
  const wait = (id: string, data: object, after: Milliseconds) =>
    asked(boss.update(RUNS, data, { id, startAfter: after / 1000 }));
  /** Lets a job of this worker wait again. @param after how long. */
  const putBack = async (id: string, data: object, after: Milliseconds, output: object): Promise<void> => {
    await asked(boss.fail(RUNS, id, output));
    await wait(id, data, after);
  };
  /** The job in its present state; undefined if it was handed out again since. */
  const nowOf = async ({ id, turn }: TakenJob): Promise<BossJob | undefined> =>
    (await find(RUNS, { id })).find(({ retryCount }) => retryCount === turn);
  /** Whether a job is still with this worker: pg-boss takes it away from one that was silent. */
  const isOurs = async (taken: TakenJob): Promise<boolean> => (await nowOf(taken))?.state === 'active';
  const schedules = async (): Promise<readonly Schedule[]> =>
    (await asked(boss.getSchedules(RUNS))).map(({ key, cron, timezone }) => ({
      pipeline: key,
      cron,
      timeZone: timezone,
    }));
  const unschedule = async (pipeline: string): Promise<boolean> => {
    const found = (await schedules()).some((one) => one.pipeline === pipeline);
    if (found) await asked(boss.unschedule(RUNS, pipeline));
    return found;
  };
  return {
    enqueue: async (job) => {
      const key = job.pipeline;
      const isWorked = (await find(RUNS, { key })).some(({ state }) => state === 'active');
      const options = { singletonKey: key, startAfter: 0, match: 'all' } as const;
      const { updated } = await asked(boss.upsert(RUNS, job, options));
      await remove(DEAD, key);
      if (updated > 0) return 'waiting';
      return isWorked ? 'behind' : 'enqueued';
    },
    makeUp: async (pipeline, at) => {
      const found = await asked(boss.getSchedules(RUNS, pipeline));
      for (const { data } of found) {
        if (!isRunJob(data)) continue;
        // The row of a job is kept for a week, and pg-boss makes no second one with its id.
        const options = { id: idOfTime(pipeline, at), singletonKey: pipeline };
        return (await asked(boss.send(RUNS, { ...data, madeUpFor: at }, options))) !== null;
      }
      return false;
    },
    take: async (most) => {
      const found = await asked(boss.fetch(RUNS, { batchSize: most, includeMetadata: true }));
      const taken: TakenJob[] = [];
      for (const { id, data, retryCount, singletonKey } of found) {
        if (isRunJob(data)) taken.push({ id, job: data, turn: retryCount });
        else {
          const message = `the job of ${singletonKey} is of another version of foliopipe: it waits for a worker of that version`;
          warn({ message });
          await putBack(id, data as object, OF_OTHERS_MS, { problem: message });
        }
      }
      return taken;
    },
    touch: async (ids) => void (ids.length > 0 && (await asked(boss.touch(RUNS, ids)))),
    complete: async (taken, exitCode) => {
      if (await isOurs(taken)) await asked(boss.complete(RUNS, taken.id, { exitCode }));
      await remove(DEAD, taken.job.pipeline);
    },
    giveBack: async (taken, after, trouble) => {
      const now = await nowOf(taken);
      const { trouble: _, ...job } = taken.job;
      const data = trouble === undefined ? job : { ...job, trouble };
      // The job waits already if an earlier call was interrupted. If it was enqueued anew since, its config differs.
      const isSame = JSON.stringify(now?.data) === JSON.stringify(taken.job);
      if (now?.state === 'retry' && isSame) await wait(taken.id, data, after);
      if (now?.state !== 'active') return;
      // A newer job of the pipeline goes on with its run. With the same config it may fail in the same way.
      const [newer] = await find(RUNS, { key: job.pipeline, queued: true });
      if (newer !== undefined) {
        if (trouble !== undefined && isRunJob(newer.data) && newer.data.config === job.config) {
          await wait(newer.id, { ...newer.data, trouble }, 0);
        }
        await asked(boss.complete(RUNS, taken.id, { trouble: trouble ?? null }));
        return;
      }
      await putBack(taken.id, data, after, { trouble: trouble ?? null });
    },
    bury: async (taken, problem) => {
      if (!(await isOurs(taken))) return;
      const { trouble: _, ...job } = taken.job;
      const letter: DeadLetter = { ...job, problem };
      await asked(boss.upsert(DEAD, letter, { singletonKey: job.pipeline, startAfter: 0, match: 'all' }));
      await asked(boss.complete(RUNS, taken.id, { exitCode: problem.exitCode, code: problem.code }));
    },
    waiting: async () =>
      (await find(RUNS, { queued: true })).flatMap(({ data, createdOn, startAfter }) => {
        if (!isRunJob(data)) return [];
        return [{ job: data, since: createdOn.getTime(), from: startAfter.getTime() }];
      }),
    worked: async () =>
      (await find(RUNS)).flatMap(({ state, data, startedOn }) =>
        state === 'active' && isRunJob(data) ? [{ job: data, since: startedOn?.getTime() ?? 0 }] : [],
      ),
    deadLetters: async () =>
      (await find(DEAD, { queued: true })).flatMap(({ data }) => (isDeadLetter(data) ? [data] : [])),
    schedule: (job, cron, timeZone) =>
      asked(boss.schedule(RUNS, cron, job, { tz: timeZone, key: job.pipeline, singletonKey: job.pipeline })),
    schedules,
    unschedule,
    dismiss: (pipeline) => remove(DEAD, pipeline),
    remove: async (pipeline) => [
      ...((await remove(RUNS, pipeline)) ? (['job'] as const) : []),
      ...((await unschedule(pipeline)) ? (['schedule'] as const) : []),
      ...((await remove(DEAD, pipeline)) ? (['dead letter'] as const) : []),
    ],
  };
}
