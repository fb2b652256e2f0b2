import { expect, it } from 'vitest';
import { afterRun, type RunEnd } from '../../src/fleet/after-run.js';
import type { Trouble } from '../../src/fleet/job.js';
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
