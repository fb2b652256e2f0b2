/**
 * A worker: takes jobs, runs each in a process of its own, and keeps reporting that it is alive. When a run ends, its job
 * is completed, repeated, or left to a person.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FleetTables, WorkerFacts } from '../checkpoint/postgres/workers.js';
import type { Logger } from '../logger.js';
import type { Milliseconds } from '../types.js';
import { handleRunEnd, type NextStep, type RunEnd } from './after-run.js';
import type { RunJob } from './job.js';
import type { JobQueue, TakenJob } from './job-queue.js';
import { createMakeUp, madeUpText } from './missed-times.js';
import { createLogBackoff, type FleetTimes, pause, untilStopped } from './times.js';

/** A run that is being done. */
export interface StartedRun {
  /** Never rejects. */
  readonly ended: Promise<RunEnd>;
  /** Whether it has reported its end: it no longer needs its lease. */
  hasReported(): boolean;
  /** Asks it to stop at the next safe point. A second call does nothing. */
  stop(): void;
  /** Ends it at once. */
  kill(): void;
}

interface WorkOptions {
  readonly queue: JobQueue;
  readonly tables: FleetTables;
  /** Unique to this worker. */
  readonly id: string;
  readonly facts: Omit<WorkerFacts, 'state' | 'pipelines'>;
  /** Begins the run of a job. */
  readonly start: (job: RunJob) => StartedRun;
  readonly times: FleetTimes;
  readonly logger: Logger;
  /** Aborts when the worker must take no more jobs, and hand back those that it has. */
  readonly signal: AbortSignal;
}

/** What a worker reports about itself. */
export interface WorkerStatus {
  readonly pipelines: readonly string[];
  readonly isDraining: boolean;
  /** How long ago the database last answered, in ms. */
  readonly silentMs: Milliseconds;
  /** Runs that have ended, by what was done with their jobs. */
  readonly ended: Readonly<Record<NextStep['kind'], number>>;
}

export interface Worker {
  status(): WorkerStatus;
  /** Resolves when the worker was asked to stop and has handed its jobs back. */
  readonly done: Promise<void>;
}

/** How often the worker looks for missed times of schedules. */
const MAKE_UP_MS = 60_000;

/** How long a worker that stops tries to reach the database. After that, its missing heartbeats free its jobs. */
const FAREWELL_MS = 20_000;
/** How long a worker that stops waits for one answer of the database. */
const LAST_ANSWER_MS = 10_000;

/** A job that this worker works on. */
interface OwnJob {
  taken: TakenJob;
  readonly run: StartedRun;
  /** How often in a row its lease was missing. */
  misses: number;
  isKilled: boolean;
}

/**
 * A run whose lease is missing this often in a row, for two minutes, is stopped or hangs: it is killed. The time must be
 * enough to wait for the lease of a predecessor. It must also be enough, after the lease is lost, to wait for uploads in
 * flight (`timeouts.shutdown`) and to record what is paid for.
 */
const MOST_MISSES = 24;

/** Begins to work. Errors of the database are logged, and what failed is tried again. */
export function work({ queue, tables, id, facts, start, times, logger, signal }: WorkOptions): Worker {
  const running = new Map<string, OwnJob>();
  const ends = new Set<Promise<void>>();
  /** Ends the pause before jobs are asked for again. */
  let wake = () => {};
  const ended = { done: 0, again: 0, person: 0 };
  let heardAt = performance.now();
  /** Says whether to log the current problem now; undefined while the database answers. */
  let shouldLog: (() => boolean) | undefined;
  const pipelines = () => [...running.values()].map(({ taken }) => taken.job.pipeline).sort();

  /** @returns the answer of the database; undefined if there is none, which is logged. */
  const asked = async <T>(what: string, question: () => Promise<T>): Promise<T | undefined> => {
    try {
      const answer = await inTime(question(), signal);
      heardAt = performance.now();
      if (shouldLog !== undefined) logger.info({}, 'the database answers again');
      shouldLog = undefined;
      return answer;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      shouldLog ??= createLogBackoff();
      if (shouldLog()) logger.warn({ reason }, `${what}: ${reason}`);
      return undefined;
    }
  };

  /** Tells the fleet that this worker is alive, and what it works on. */
  const reportAlive = () =>
    tables.beat(id, { ...facts, state: signal.aborted ? 'draining' : 'working', pipelines: pipelines() });

  const beat = async () => {
    await reportAlive();
    await queue.touch([...running.keys()]);
    const held = new Set((await tables.leases()).map(({ pipeline }) => pipeline));
    for (const own of running.values()) {
      const { pipeline } = own.taken.job;
      own.misses = held.has(pipeline) || own.run.hasReported() ? 0 : own.misses + 1;
      if (own.misses < MOST_MISSES || own.isKilled) continue;
      own.isKilled = true;
      logger.warn({ pipeline }, `${pipeline}: its process has lost its lease and does not end: it is killed`);
      own.run.kill();
    }
  };

  /** Tries until the database has answered; a worker that stops does not try for ever. */
  const settle = async (own: OwnJob, end: RunEnd) => {
    const isHandedBack = signal.aborted;
    const step = handleRunEnd(queue, own.taken.job, end, { isHandedBack, host: facts.host, times, logger });
    ended[step.kind] += 1;
    for (let until = Number.POSITIVE_INFINITY; ; await sleep(times.take)) {
      if (await asked('a job cannot be settled', () => step.settle(own.taken).then(() => true))) return;
      if (signal.aborted) until = Math.min(until, performance.now() + FAREWELL_MS);
      if (performance.now() > until) return;
    }
  };

  const begin = async (taken: TakenJob) => {
    const { pipeline } = taken.job;
    const known = running.get(taken.id);
    if (known !== undefined) {
      // The job was taken away from this worker, which was silent or has had it for a day, and is handed to it again. If it
      // was enqueued with another config meanwhile, it waits for the end of the run.
      if (isSameRun(known.taken.job, taken.job)) known.taken = taken;
      else await queue.giveBack(taken, times.locked, taken.job.trouble);
      return;
    }
    const lease = (await tables.leases()).find((one) => one.pipeline === pipeline);
    if (lease?.silentMs === null || pipelines().includes(pipeline)) {
      logger.debug({ pipeline }, `${pipeline}: another process works on it`);
      await queue.giveBack(taken, times.locked, taken.job.trouble);
      return;
    }
    logger.info({ pipeline }, `${pipeline}: begins${madeUpText(taken.job.madeUpFor)}`);
    const own: OwnJob = { taken, run: start(taken.job), misses: 0, isKilled: false };
    running.set(taken.id, own);
    void asked('no sign of life', reportAlive);
    const end = own.run.ended
      .then((how) => settle(own, how))
      .finally(() => {
        running.delete(taken.id);
        ends.delete(end);
        wake();
        if (!signal.aborted) void asked('no sign of life', reportAlive);
      });
    ends.add(end);
  };

  const takeJobs = async () => {
    const free = facts.runs - running.size;
    if (free <= 0) return;
    // A few at a time, so that jobs are spread over all workers that are free.
    const most = Math.ceil(free / 10);
    const taken = await asked('no jobs can be taken', () => queue.take(most));
    // A job that cannot be begun is handed out again, because its heartbeats are missing.
    for (const one of taken ?? []) await asked(`${one.job.pipeline} cannot begin`, () => begin(one));
  };

  const loop = async () => {
    let isBeating = false;
    const beats = setInterval(async () => {
      // After an outage, beats that have waited in line would count the same missing lease several times.
      if (isBeating) return;
      isBeating = true;
      await asked('no sign of life', beat);
      isBeating = false;
    }, times.beat);
    try {
      await asked('no sign of life', beat);
      await asked('old workers stay listed', () => tables.sweep());
      const makeUp = createMakeUp(queue, tables, logger);
      for (let lookAt = 0; !signal.aborted; ) {
        if (performance.now() >= lookAt) {
          await asked('times that were missed are not made up for', makeUp);
          lookAt = performance.now() + MAKE_UP_MS;
        }
        await takeJobs();
        // Racing the promises of the runs would add a handler to each of them in every round of this loop.
        const anyEnds = new Promise<void>((resolve) => {
          wake = resolve;
        });
        await Promise.race([anyEnds, pause(times.take, signal)]);
      }
      for (const { run } of running.values()) run.stop();
      await asked('no sign of life', beat);
      while (ends.size > 0) await Promise.all(ends);
    } finally {
      // A later beat would list the worker again.
      clearInterval(beats);
    }
    await asked('the worker stays listed', () => tables.leave(id));
  };
  return {
    status: () => ({
      pipelines: pipelines(),
      isDraining: signal.aborted,
      silentMs: performance.now() - heardAt,
      ended,
    }),
    done: loop(),
  };
}

function isSameRun(one: RunJob, other: RunJob): boolean {
  return one.config === other.config && JSON.stringify(one.flags) === JSON.stringify(other.flags);
}

/** Waits for an answer of the database; after the signal, not for long: the network may be lost without an error. */
function inTime<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  return untilStopped(answer, signal, async (answered): Promise<never> => {
    await sleep(LAST_ANSWER_MS, undefined, { signal: answered });
    throw new Error('the database gives no answer');
  });
}
