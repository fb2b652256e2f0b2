/** Says what is done with the job of a run that has ended, and does it. */
import type { Logger } from '../logger.js';
import { countOf, formatDuration } from '../quantities.js';
import { afterRun, type NextStep, type RunEnd } from './after-run.js';
import type { JobQueue, TakenJob } from './job-queue.js';
import type { FleetTimes } from './times.js';

export interface SettleOptions {
  /** Whether the worker itself has stopped the run. */
  readonly isHandedBack: boolean;
  /** This machine. */
  readonly host: string;
  readonly times: FleetTimes;
  readonly logger: Logger;
}

/** @returns what is done, and the function that does it, which may be called again. */
export function settleJob(
  queue: JobQueue,
  taken: TakenJob,
  end: RunEnd,
  { isHandedBack, host, times, logger }: SettleOptions,
): { readonly kind: NextStep['kind']; readonly settle: () => Promise<void> } {
  const { pipeline } = taken.job;
  const now = Date.now();
  const step = afterRun(taken.job, end, { isHandedBack, now, random: Math.random(), times });
  const facts = { pipeline, run: end.run, exitCode: end.exitCode, code: end.error?.code ?? null };
  if (step.kind === 'done') {
    logger.info(facts, `${pipeline}: done, exit ${step.exitCode}`);
    return { kind: step.kind, settle: () => queue.complete(taken, step.exitCode) };
  }
  if (step.kind === 'again') {
    const { after, trouble } = step;
    if (isHandedBack) logger.info(facts, `${pipeline}: handed back`);
    else {
      const times = trouble === undefined ? '' : `, ${countOf(trouble.times, 'time')} in a row`;
      logger.warn(facts, `${pipeline}: ${endText(end)}${times}; again in ${formatDuration(after)}`);
    }
    return { kind: step.kind, settle: () => queue.giveBack(taken, after, trouble) };
  }
  logger.error(facts, `${pipeline}: ${endText(end)}; it waits for a person: foliopipe fleet`);
  const problem = { ...step.problem, run: end.run, at: now, host };
  return { kind: step.kind, settle: () => queue.bury(taken, problem) };
}

function endText({ exitCode, signal, error }: RunEnd): string {
  const how = signal === null ? `exit ${exitCode}` : `ended by ${signal}`;
  return error === null ? how : `${how} (${error.code})`;
}
