import { expect, it } from 'vitest';
import { afterRun, handleRunEnd, isRepeated, type RunEnd } from '../../src/fleet/after-run.js';
import type { RunJob, Trouble } from '../../src/fleet/job.js';
import type { JobQueue, TakenJob } from '../../src/fleet/job-queue.js';
import { fleetTimes } from '../../src/fleet/times.js';

const now = 1_000_000;
const times = fleetTimes();
const ended = (
  exitCode: number | null,
  code: string | null = exitCode === 0 ? null : 'SOME_CODE',
): RunEnd => ({
  exitCode,
  signal: exitCode === null ? 'SIGKILL' : null,
  run: 'R1',
  hasReported: code !== null || exitCode !== null,
  error: code === null ? null : { code, message: 'what', hint: 'type this' },
});
const after = (end: RunEnd, trouble?: Trouble, isHandedBack = false) =>
  afterRun(trouble === undefined ? {} : { trouble }, end, { isHandedBack, now, random: 0.5, times });
const trouble = (times: number, code = 'SOME_CODE'): Trouble => ({
  exitCode: 5,
  code,
  message: 'what',
  hint: 'type this',
  times,
  since: 1,
});

it.each([0, 3])('exit %d is the end of the job', (exitCode) => {
  expect(after(ended(exitCode))).toEqual({ kind: 'done', exitCode });
});

it.each([1, 2, 4, 6, 7, 9, 99])('exit %d waits for a person, with its error', (exitCode) => {
  const problem = { exitCode, code: 'SOME_CODE', message: 'what', hint: 'type this' };
  expect(after(ended(exitCode))).toEqual({ kind: 'person', problem });
});

it.each([5, 8, 10])('exit %d is repeated, each time later, until another thing goes wrong', (exitCode) => {
  const first = after(ended(exitCode));
  expect(first).toMatchObject({ kind: 'again', after: 30_000, trouble: { times: 1, since: now } });
  const pauses = [1, 2, 3, 4, 5, 100].map((times) => after(ended(exitCode), trouble(times)));
  expect(pauses.map((step) => step.kind === 'again' && step.after / 1000)).toEqual([
    60, 120, 240, 480, 900, 900,
  ]);
  expect(pauses.at(-1)).toMatchObject({ trouble: { times: 101, since: 1 } });
  expect(after(ended(exitCode), trouble(9, 'ANOTHER_CODE'))).toMatchObject({
    after: 30_000,
    trouble: { times: 1 },
  });
});

it('repeats uploads that may be paid again no longer than five times in a row', () => {
  const ambiguous = ended(5, 'CHUNKS_AMBIGUOUS');
  expect(after(ambiguous, trouble(3, 'CHUNKS_AMBIGUOUS'))).toMatchObject({
    kind: 'again',
    trouble: { times: 4 },
  });
  expect(after(ambiguous, trouble(4, 'CHUNKS_AMBIGUOUS'))).toMatchObject({
    kind: 'person',
    problem: { exitCode: 5, code: 'CHUNKS_AMBIGUOUS' },
  });
});

it('leaves a run of a newer state to a newer worker, and says so', () => {
  const newer = after(ended(2, 'CHECKPOINT_NEWER'), trouble(7, 'CHECKPOINT_NEWER'));
  expect(newer).toMatchObject({
    kind: 'again',
    after: 15_000,
    trouble: { exitCode: 2, code: 'CHECKPOINT_NEWER', times: 8 },
  });
});

it('spreads the repeats of many runs', () => {
  const pauses = [0, 0.999].map((random) =>
    afterRun({}, ended(5), { isHandedBack: false, now, random, times }),
  );
  expect(pauses).toMatchObject([{ after: 24_000 }, { after: 35_988 }]);
});

it('hands back at once what the worker itself has stopped, and soon what another one has', () => {
  const known = trouble(4);
  expect(after(ended(143), known, true)).toEqual({ kind: 'again', after: 0, trouble: known });
  expect(after(ended(143), known)).toMatchObject({ kind: 'again', after: 2_000, trouble: known });
  expect(after(ended(11), known)).toMatchObject({ kind: 'again', after: 15_000, trouble: known });
});

it('repeats a run whose process is killed, and no longer than three times in a row', () => {
  const [first, second, third] = [0, 1, 2].map((times) =>
    after(ended(null, null), times === 0 ? undefined : trouble(times, 'RUN_CRASHED')),
  );
  expect(first).toMatchObject({ kind: 'again', trouble: { times: 1, code: 'RUN_CRASHED' } });
  expect(second).toMatchObject({ kind: 'again', trouble: { times: 2 } });
  expect(third).toMatchObject({ kind: 'person', problem: { code: 'RUN_CRASHED', exitCode: null } });
});

it('says what a run that has ended without an error waits for', () => {
  expect(after(ended(9, null))).toMatchObject({
    kind: 'person',
    problem: { exitCode: 9, code: 'RUN_WITHHELD', hint: expect.stringContaining('foliopipe publish R1') },
  });
  expect(after(ended(8, null))).toMatchObject({ kind: 'again', trouble: { code: 'RUN_PARTLY_PUBLISHED' } });
});

it.each([8, 9, 134])('exit %d without a report is a crash', (exitCode) => {
  const silent = { ...ended(exitCode, null), hasReported: false };
  expect(after(silent)).toMatchObject({
    kind: 'again',
    trouble: {
      code: 'RUN_CRASHED',
      message: `the process of the run ended with exit code ${exitCode}, and reported nothing`,
    },
  });
  const third = after({ ...silent, exitCode: 134 }, trouble(2, 'RUN_CRASHED'));
  expect(third).toMatchObject({ kind: 'person', problem: { exitCode: 134 } });
  const killed = { trouble: { message: expect.stringContaining('ended with SIGKILL, and') } };
  expect(after(ended(null, null))).toMatchObject(killed);
});

it('knows the exit codes after which a worker goes on by itself', () => {
  const codes = [null, undefined, '5', 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 130, 143];
  expect(codes.filter(isRepeated)).toEqual([5, 8, 10, 11, 130, 143]);
});

/** What is logged, and what the queue is told, when the run of a job ends. */
async function settled(end: RunEnd, before?: Trouble, isHandedBack = false) {
  const log: unknown[] = [];
  const write = (level: string) => (facts: object, text: string) => void log.push([level, text, facts]);
  const logger = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  const told: unknown[] = [];
  const tell = (name: string) => async (_: object, what: unknown) => void told.push([name, what]);
  const queue = { complete: tell('complete'), giveBack: tell('giveBack'), bury: tell('bury') };
  const from = { host: 'there', files: [] };
  const job: RunJob = { version: 1, pipeline: 'nightly', config: '{}', flags: {}, from };
  const options = { isHandedBack, host: 'here', times, logger };
  const given = before === undefined ? job : { ...job, trouble: before };
  const { settle } = handleRunEnd(queue as unknown as JobQueue, given, end, options);
  await settle({ id: '1', turn: 0, job: given } as TakenJob);
  return { log, told };
}

it('logs what becomes of a job, and tells it to the queue', async () => {
  const facts = (exitCode: number | null, code: string | null) => ({
    pipeline: 'nightly',
    run: 'R1',
    exitCode,
    code,
  });
  expect(await settled(ended(3, null))).toEqual({
    log: [['info', 'nightly: done, exit 3', facts(3, null)]],
    told: [['complete', 3]],
  });
  expect(await settled(ended(143), trouble(4), true)).toEqual({
    log: [['info', 'nightly: handed back', facts(143, 'SOME_CODE')]],
    told: [['giveBack', 0]],
  });
  const again = (text: RegExp, code: number | null, name: string | null) => [
    ['warn', expect.stringMatching(text), facts(code, name)],
  ];
  const first = await settled(ended(5));
  expect(first.log).toEqual(again(/^nightly: exit 5 \(SOME_CODE\); again in \d+s$/, 5, 'SOME_CODE'));
  const third = await settled(ended(5), trouble(2));
  expect(third.log).toEqual(
    again(/^nightly: exit 5 \(SOME_CODE\), 3 times in a row; again in \S+( \S+)?$/, 5, 'SOME_CODE'),
  );
  const killed = await settled(ended(null, null));
  expect(killed.log).toEqual(again(/^nightly: ended by SIGKILL; again in \d+s$/, null, null));
  expect(await settled(ended(2))).toEqual({
    log: [
      ['error', 'nightly: exit 2 (SOME_CODE); it waits for a person: foliopipe fleet', facts(2, 'SOME_CODE')],
    ],
    told: [['bury', expect.objectContaining({ code: 'SOME_CODE', run: 'R1', host: 'here' })]],
  });
});
