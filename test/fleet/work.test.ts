/** What a worker does with its jobs, with a queue in memory: what only real processes show is in test/integration/machines. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { HeldLease } from '../../src/checkpoint/postgres/lease.js';
import type { RunEnd } from '../../src/fleet/after-run.js';
import type { JobQueue, TakenJob } from '../../src/fleet/job-queue.js';
import { type StartedRun, work } from '../../src/fleet/work.js';
import { silentLogger } from '../../src/logger.js';

const times = { take: 5, beat: 10, silent: 100, pause: 1000, locked: 15_000 };
const facts = { host: 'here', pid: 1, version: '0', node: '24', runs: 3 };
const jobOf = (pipeline: string): TakenJob['job'] => ({
  version: 1,
  pipeline,
  config: '{}',
  flags: {},
  from: { host: 'there', files: [] },
});

/** A worker whose queue hands out these jobs, one list at a time. */
function startWorker(
  handed: TakenJob[][],
  leases: () => HeldLease[] = () => [],
  take = times.take,
  beforeEnd: () => void = () => undefined,
) {
  const settled: unknown[] = [];
  const touched: (readonly string[])[] = [];
  const runs = new Map<string, StartedRun & { end(end: Partial<RunEnd>): void }>();
  const queue = {
    take: async () => handed.shift() ?? [],
    touch: async (ids: readonly string[]) => void touched.push(ids),
    complete: async ({ id, turn }: TakenJob, exitCode: number) => {
      beforeEnd();
      settled.push({ id, turn, exitCode });
    },
    giveBack: async ({ id, turn }: TakenJob, after: number) => void settled.push({ id, turn, after }),
    bury: async ({ id }: TakenJob, { code }: { code: string }) => void settled.push({ id, code }),
  } as unknown as JobQueue;
  const beats: (readonly string[])[] = [];
  const states: string[] = [];
  let listed = 0;
  const tables = {
    beat: async (_: string, { pipelines, state }: { pipelines: readonly string[]; state: string }) => {
      beats.push(pipelines);
      states.push(state);
    },
    leave: async () => {
      listed = beats.length;
      // Meanwhile it would be time for another beat.
      await sleep(3 * times.beat);
    },
    sweep: async () => undefined,
    leases: async () => leases(),
    schedules: async () => [],
  } as unknown as Parameters<typeof work>[0]['tables'];
  const controller = new AbortController();
  const worker = work({
    queue,
    tables,
    id: 'w',
    facts,
    times: { ...times, take },
    logger: silentLogger,
    signal: controller.signal,
    start: ({ pipeline }) => {
      let resolve: (end: RunEnd) => void = () => undefined;
      const promise = new Promise<RunEnd>((ended) => {
        resolve = ended;
      });
      const end = (how: Partial<RunEnd>) =>
        resolve({ exitCode: null, signal: null, run: null, hasReported: true, error: null, ...how });
      const run = {
        ended: promise,
        hasReported: () => false,
        stop: () => end({ exitCode: 143 }),
        kill: () => end({ exitCode: 143 }),
        end,
      };
      runs.set(pipeline, run);
      return run;
    },
  });
  /** How many beats came before it left. */
  const left = () => listed;
  return {
    worker,
    runs,
    settled,
    touched,
    beats,
    states,
    left,
    stop: () => controller.abort(new Error('stop')),
  };
}

const taken = (id: string, pipeline: string, turn = 0): TakenJob => ({ id, turn, job: jobOf(pipeline) });
const held = (pipeline: string, isRenewed: boolean): HeldLease => ({
  pipeline,
  holder: undefined,
  leftMs: 1,
  silentMs: isRenewed ? null : 13_000,
});

it('settles each job by the end of its run, and hands back the rest when it is stopped', async () => {
  const { worker, runs, settled, stop } = startWorker([
    [taken('1', 'a'), taken('2', 'b')],
    [taken('3', 'c')],
  ]);
  await expect.poll(() => worker.status().pipelines).toEqual(['a', 'b', 'c']);
  runs.get('a')!.end({ exitCode: 3 });
  runs.get('b')!.end({ exitCode: 4, error: { code: 'SOURCE_MISSING', message: 'm', hint: null } });
  await expect.poll(() => settled.length).toBe(2);
  stop();
  await worker.done;
  expect(settled).toEqual([
    { id: '1', turn: 0, exitCode: 3 },
    { id: '2', code: 'SOURCE_MISSING' },
    { id: '3', turn: 0, after: 0 },
  ]);
});

it('asks for jobs at once when a run has ended, each time', async () => {
  const handed = [[taken('1', 'a')], [taken('2', 'b')], [taken('3', 'c')]];
  const { worker, runs, stop } = startWorker(handed, undefined, 3_600_000);
  for (const pipeline of ['a', 'b', 'c']) {
    await expect.poll(() => worker.status().pipelines).toEqual([pipeline]);
    runs.get(pipeline)!.end({ exitCode: 0 });
  }
  await expect.poll(() => worker.status().ended.done).toBe(3);
  stop();
  await worker.done;
});

it('begins no pipeline that another process works on, but does not wait for one that is silent', async () => {
  const leases = () => [held('busy', true), held('lost', false)];
  const handed = [[taken('1', 'busy'), taken('2', 'lost')], [taken('3', 'lost')]];
  const { worker, settled, stop } = startWorker(handed, leases);
  await expect.poll(() => settled.length).toBe(2);
  expect(worker.status().pipelines).toEqual(['lost']);
  // The second job of a pipeline that this worker has already waits, too.
  expect(settled).toEqual([
    { id: '1', turn: 0, after: 15_000 },
    { id: '3', turn: 0, after: 15_000 },
  ]);
  stop();
  await worker.done;
});

it('goes on with a job that was taken away and came back, and kills a run that has lost its lease', async () => {
  let isHeld = true;
  const handed = [[taken('1', 'a')], [taken('1', 'a', 1)]];
  const leases = () => (isHeld ? [held('a', false)] : []);
  const { worker, settled, touched, beats, stop } = startWorker(handed, leases);
  await expect.poll(() => beats.length).toBeGreaterThan(25);
  expect(touched.at(-1)).toEqual(['1']);
  expect(settled).toEqual([]);
  isHeld = false;
  const lostAt = beats.length;
  // It waits for its uploads in flight, and records what is paid for.
  await expect.poll(() => beats.length).toBeGreaterThan(lostAt + 15);
  expect(settled).toEqual([]);
  await expect.poll(() => settled.length).toBe(1);
  expect(settled).toEqual([{ id: '1', turn: 1, after: 2_000 }]);
  stop();
  await worker.done;
});

it('does a job that was taken away and enqueued with another config after the run that it works on', async () => {
  const other = { ...taken('1', 'a', 1), job: { ...jobOf('a'), config: '{"chunks":{}}' } };
  const handed = [[taken('1', 'a')], [other]];
  const { worker, runs, settled, stop } = startWorker(handed);
  await expect.poll(() => settled).toEqual([{ id: '1', turn: 1, after: 15_000 }]);
  runs.get('a')!.end({ exitCode: 0 });
  await expect.poll(() => settled.length).toBe(2);
  expect(settled.at(-1)).toEqual({ id: '1', turn: 0, exitCode: 0 });
  stop();
  await worker.done;
});

it('settles a job that was handed out again while the database was away as it was handed out last', async () => {
  const handed = [[taken('1', 'a')]];
  let isAway = true;
  let tries = 0;
  const { worker, runs, settled, stop } = startWorker(handed, undefined, undefined, () => {
    tries += 1;
    if (isAway) throw new Error('away');
  });
  await expect.poll(() => runs.size).toBe(1);
  runs.get('a')!.end({ exitCode: 0 });
  await expect.poll(() => tries).toBeGreaterThan(0);
  handed.push([taken('1', 'a', 1)]);
  await expect.poll(() => handed).toEqual([]);
  isAway = false;
  await expect.poll(() => settled).toEqual([{ id: '1', turn: 1, exitCode: 0 }]);
  stop();
  await worker.done;
});

it('is listed no more when it has ended', async () => {
  const { worker, stop, beats, left } = startWorker([]);
  await expect.poll(() => beats.length).toBeGreaterThan(1);
  stop();
  await worker.done;
  expect(beats).toHaveLength(left());
});

it('waits for its runs when it is stopped, is alive meanwhile, and says that it takes no more jobs', async () => {
  const { worker, runs, settled, stop, beats, states, left } = startWorker([[taken('1', 'a')]]);
  await expect.poll(() => worker.status().pipelines).toEqual(['a']);
  expect(states.at(-1)).toBe('working');
  let isStopped = false;
  Object.assign(runs.get('a')!, {
    stop: () => {
      isStopped = true;
    },
  });
  stop();
  await expect.poll(() => isStopped).toBe(true);
  const stoppedAt = beats.length;
  await expect.poll(() => beats.length).toBeGreaterThan(stoppedAt + 3);
  expect([left(), settled, states.at(-1)]).toEqual([0, [], 'draining']);
  expect(worker.status()).toMatchObject({ isDraining: true, pipelines: ['a'] });
  runs.get('a')!.end({ exitCode: 143 });
  await worker.done;
  expect(settled).toEqual([{ id: '1', turn: 0, after: 0 }]);
});

it('kills no run that has reported its end and given its lease back', async () => {
  const { worker, runs, settled, beats, stop } = startWorker([[taken('1', 'a')]]);
  await expect.poll(() => worker.status().pipelines).toEqual(['a']);
  Object.assign(runs.get('a')!, { hasReported: () => true });
  await expect.poll(() => beats.length).toBeGreaterThan(35);
  expect(settled).toEqual([]);
  runs.get('a')!.end({ exitCode: 0 });
  await expect.poll(() => settled.length).toBe(1);
  stop();
  await worker.done;
});
