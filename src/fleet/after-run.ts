/** Decides what is done with a job when its run has ended, by the exit code (README.md#exit-codes), and does it. */
import { DeadlineError, type FoliopipeError, GuardError, TroubleError } from '../errors.js';
import { hintOf } from '../hints.js';
import type { Logger } from '../logger.js';
import { formatCount, formatDuration } from '../quantities.js';
import type { Milliseconds } from '../types.js';
import type { RunJob, RunProblem, Trouble } from './job.js';
import type { JobQueue, TakenJob } from './job-queue.js';
import type { FleetTimes } from './times.js';

/** How the process of a run has ended. */
export interface RunEnd {
  /** Null after a signal that the process did not handle. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The id of the run, if it got that far. */
  readonly run: string | null;
  /** Whether it has reported how it ended, as it does unless it crashes. */
  readonly hasReported: boolean;
  /** The error that it has reported; null if it has ended without one, or has reported nothing. */
  readonly error: { readonly code: string; readonly message: string; readonly hint: string | null } | null;
}

export type NextStep =
  /** It is over: exit code 0 or 3. */
  | { readonly kind: 'done'; readonly exitCode: number }
  /** The job is repeated. */
  | { readonly kind: 'again'; readonly after: Milliseconds; readonly trouble: Trouble | undefined }
  /** A person must look. */
  | { readonly kind: 'person'; readonly problem: RunProblem };

/** The longest pause before a job is done again. */
const LONGEST_MS = 15 * 60_000;

const STOPPED_MS = 2_000;

/** A run that crashes this often in a row is not repeated: it may bring down its machine. */
const MOST_CRASHES = 3;

/** The same command goes on, after a while. */
const PASSING: ReadonlySet<number> = new Set([5, 8, 10]);

/** This worker cannot do the run, and a newer one can: the tables were migrated while it lived. */
const OF_NEWER_WORKER = 'CHECKPOINT_NEWER';

/** Each repeat sends these uploads again, and may pay again: after this many in a row, a person must look. */
const MAY_PAY_AGAIN = 'CHUNKS_AMBIGUOUS';
const MOST_PAID_AGAIN = 5;

const INTERRUPTED: ReadonlySet<number> = new Set([130, 143]);

/** Whether a worker repeats a job by itself after a run with this exit code. */
export function isRepeated(exitCode: unknown): boolean {
  return (
    typeof exitCode === 'number' && (PASSING.has(exitCode) || INTERRUPTED.has(exitCode) || exitCode === 11)
  );
}

/**
 * @param isHandedBack whether the worker itself has stopped the run.
 * @param random from 0 to 1: workers that were stopped by the same outage do not begin again together.
 */
export function afterRun(
  { trouble: before }: Pick<RunJob, 'trouble'>,
  end: RunEnd,
  {
    isHandedBack,
    now,
    random,
    times,
  }: {
    readonly isHandedBack: boolean;
    readonly now: number;
    readonly random: number;
    readonly times: Pick<FleetTimes, 'pause' | 'locked'>;
  },
): NextStep {
  const { exitCode } = end;
  if (exitCode === 0 || exitCode === 3) return { kind: 'done', exitCode };
  if (isHandedBack) return { kind: 'again', after: 0, trouble: before };
  if (exitCode === 11) return { kind: 'again', after: times.locked, trouble: before };
  // The run was stopped by something other than this worker.
  if (exitCode !== null && INTERRUPTED.has(exitCode))
    return { kind: 'again', after: STOPPED_MS, trouble: before };
  const problem = problemOf(end);
  const isSame = before?.code === problem.code;
  const inRow = isSame ? before.times + 1 : 1;
  const trouble = { ...problem, times: inRow, since: isSame ? before.since : now };
  if (problem.code === OF_NEWER_WORKER) return { kind: 'again', after: times.locked, trouble };
  if (!isPassing(end, problem, inRow)) return { kind: 'person', problem };
  const pause = Math.min(times.pause * 2 ** Math.min(inRow - 1, 10), LONGEST_MS);
  return { kind: 'again', after: Math.round(pause * (0.8 + 0.4 * random)), trouble };
}

/** @param inRow how often the same has happened in a row. */
function isPassing(end: RunEnd, { exitCode, code }: RunProblem, inRow: number): boolean {
  if (code === MAY_PAY_AGAIN) return inRow < MOST_PAID_AGAIN;
  if (exitCode !== null && PASSING.has(exitCode)) return true;
  const isCrash = end.exitCode === null || !end.hasReported;
  return isCrash && inRow < MOST_CRASHES;
}

function problemOf({ exitCode, signal, run, hasReported, error }: RunEnd): RunProblem {
  if (error !== null && exitCode !== null) return { exitCode, ...error };
  if (hasReported && exitCode === 8) {
    const what = 'the run has reached its time limit, and has published what was done';
    return { exitCode, ...describeProblem(new DeadlineError('RUN_PARTLY_PUBLISHED', what)) };
  }
  if (hasReported && exitCode !== null) {
    const what =
      'the run is complete, and its output is withheld: too many records failed, or some are unprocessed';
    return { exitCode, ...describeProblem(new GuardError('RUN_WITHHELD', what, { facts: { run } })) };
  }
  const how = signal === null ? `exit code ${exitCode}` : signal;
  const what = `the process of the run ended with ${how}, and reported nothing`;
  return { exitCode, ...describeProblem(new TroubleError('RUN_CRASHED', what)) };
}

/** An error in the form in which the process of a run reports it. */
export function describeProblem(error: FoliopipeError): NonNullable<RunEnd['error']> {
  return { code: error.code, message: error.message, hint: hintOf(error) ?? null };
}

interface SettleOptions {
  /** Whether the worker itself has stopped the run. */
  readonly isHandedBack: boolean;
  /** This machine. */
  readonly host: string;
  readonly times: FleetTimes;
  readonly logger: Logger;
}

/**
 * Decides and logs what is done with the job.
 * @returns the decision, and a function that carries it out. It may be called again, with the job as last handed out.
 */
export function handleRunEnd(
  queue: JobQueue,
  job: RunJob,
  end: RunEnd,
  { isHandedBack, host, times, logger }: SettleOptions,
): { readonly kind: NextStep['kind']; readonly settle: (taken: TakenJob) => Promise<void> } {
  const { pipeline } = job;
  const now = Date.now();
  const step = afterRun(job, end, { isHandedBack, now, random: Math.random(), times });
  const facts = { pipeline, run: end.run, exitCode: end.exitCode, code: end.error?.code ?? null };
  if (step.kind === 'done') {
    logger.info(facts, `${pipeline}: done, exit ${step.exitCode}`);
    return { kind: step.kind, settle: (taken) => queue.complete(taken, step.exitCode) };
  }
  if (step.kind === 'again') {
    const { after, trouble } = step;
    if (isHandedBack) logger.info(facts, `${pipeline}: handed back`);
    else {
      const inRow = trouble?.times ?? 1;
      const times = inRow === 1 ? '' : `, ${formatCount(inRow)} times in a row`;
      logger.warn(facts, `${pipeline}: ${endText(end)}${times}; again in ${formatDuration(after)}`);
    }
    return { kind: step.kind, settle: (taken) => queue.giveBack(taken, after, trouble) };
  }
  logger.error(facts, `${pipeline}: ${endText(end)}; it waits for a person: foliopipe fleet`);
  const problem = { ...step.problem, run: end.run, at: now, host };
  return { kind: step.kind, settle: (taken) => queue.bury(taken, problem) };
}

function endText({ exitCode, signal, error }: RunEnd): string {
  const how = signal === null ? `exit ${exitCode}` : `ended by ${signal}`;
  return error === null ? how : `${how} (${error.code})`;
}
