/** Stops a run at a failpoint, and checks the result after it was resumed. */
import { expect } from 'vitest';
import {
  type Failpoint,
  InterruptedError,
  openCheckpointReader,
  type RunOptions,
} from '../../../pipelines/index.js';
import type { Behaviour } from '../../fake-service/behaviour.js';
import { shuffled } from '../../fake-service/troubles.js';
import { expectEnriched, expectSuccess, failingAmong, type Job, withJob } from './fake-service-job.js';

/** How many records of the sample source fail. */
export const all = failingAmong(60);
/** Results come shuffled, in small parts, and not in the order of the uploads. */
export const behaviour: Behaviour = {
  results: shuffled,
  partRecords: 4,
  finishedAtPoll: ({ chunk }) => (chunk % 3) + 1,
};
let unbroken: Promise<string> | undefined;

/** The output of a run that was not interrupted. */
export function unbrokenOutput(): Promise<string> {
  unbroken ??= runUnbroken();
  return unbroken;
}

async function runUnbroken(): Promise<string> {
  let output = '';
  await withJob({ behaviour }, async (job) => {
    await job.enrich();
    output = await job.output();
  });
  return output;
}

/** Options that abort the run when it passes a failpoint for the `nth` time. */
export function stopAt(point: Failpoint, nth: number): RunOptions {
  const controller = new AbortController();
  let passed = 0;
  return {
    signal: controller.signal,
    at: (here) => {
      if (here !== point) return;
      passed += 1;
      if (passed === nth) controller.abort(new InterruptedError('SIGTERM'));
    },
  };
}

/** Interrupts a run and expects that nothing was published. */
export async function interrupt(job: Job, options: RunOptions): Promise<void> {
  expect(await job.failure({}, options)).toBeInstanceOf(InterruptedError);
  expect((await job.published()).filter((name) => !name.endsWith('.partial'))).toEqual([]);
}

/** Chunks of the unfinished run whose folio is known but not yet FINISHED. */
async function openFolios(job: Job): Promise<number[]> {
  const reader = (await openCheckpointReader(job.config().stateDir))!;
  try {
    const run = await reader.unfinishedRun('hostile');
    const open = run === undefined ? [] : await reader.chunksIn(run.id, ['submitted'], 0, 100);
    return open.map(({ number }) => number);
  } finally {
    await reader.close();
  }
}

/** Runs again to the end, and expects the same output as without the interruption and no second upload. */
export async function expectResumed(job: Job): Promise<void> {
  const before = job.service.seen.length;
  const open = await openFolios(job);
  const summary = await job.enrich();
  await expectSuccess(job, summary, all);
  expect(await job.output()).toBe(await unbrokenOutput());
  await expectEnriched(job);

  expect(summary.uploads.accepted).toBe(6);
  expect(job.service.folios.length - 6).toBeLessThanOrEqual(summary.uploads.ambiguous);
  const again = job.service.seen.slice(before);
  const upTo = again.findIndex(({ operation }) => operation === 'upload');
  const asked = again.slice(0, upTo < 0 ? undefined : upTo).filter(({ operation }) => operation === 'track');
  for (const chunk of open) expect(asked.some((one) => one.chunk === chunk)).toBe(true);
  for (const chunk of open) {
    expect(again.some((one) => one.operation === 'upload' && one.chunk === chunk)).toBe(false);
  }
}
