/** What `foliopipe fleet` tells of workers and runs is so, also just after a worker was lost. */
import { expect, it } from 'vitest';
import { fleetText } from '../../../src/cli/fleet/fleet-text.js';
import { type DeadLetter, OF_WORKER, type RunJob } from '../../../src/fleet/job.js';
import type { OpenFleet } from '../../../src/fleet/open-fleet.js';
import { type FleetFacts, readFleet } from '../../../src/fleet/read-fleet.js';

const now = Date.now();
const seconds = (count: number) => count * 1000;

const worker = (pid: number, silentMs: number, ...pipelines: string[]) => ({
  ...{ id: `w${pid}`, host: 'vm', pid, version: '0.1.0', node: '24.1.0', runs: 2, since: 0 },
  ...{ state: 'working', silentMs, pipelines },
});
const lease = (pipeline: string, command: string, silentMs: number | null = null) => ({
  pipeline,
  holder: { pid: 8506, command, host: 'vm', since: now - seconds(5) },
  leftMs: seconds(20),
  silentMs,
});
const job = (pipeline: string): RunJob => ({
  version: 1,
  pipeline,
  config: '{}',
  flags: {},
  from: { host: 'vm', files: ['/cfg/a.yaml'] },
});
const letter = (pipeline: string, ago: number, exitCode: number | null, hint: string): DeadLetter => ({
  ...job(pipeline),
  problem: {
    ...{ exitCode, code: 'C', message: 'm', hint },
    ...{ run: null, at: now - ago, host: 'vm' },
  },
});

/** At a time of one day alone. */
const schedule = (pipeline: string, hours: number) => {
  const at = new Date(hoursAgo(hours));
  const cron = `0 ${at.getUTCHours()} ${at.getUTCDate()} ${at.getUTCMonth() + 1} *`;
  return { pipeline, cron, timeZone: 'UTC', since: 0, now };
};
const hoursAgo = (hours: number) => Math.floor(now / 3_600_000) * 3_600_000 - hours * 3_600_000;
const iso = (time: number) => new Date(time).toISOString();

const fleet = {
  tables: {
    workers: async () => [
      worker(1, 100, 'starts'),
      worker(2, seconds(22), 'lost'),
      worker(3, seconds(600), 'lost'),
    ],
    // The last one is so recent that pg-boss may still make its job, if a worker is alive.
    schedules: async () => [
      schedule('nightly', 2),
      schedule('weekly', 30),
      { ...schedule('recent', 5), now: hoursAgo(5) + seconds(90) },
    ],
    served: async () => new Map([['nightly', hoursAgo(40)]]),
    leases: async () => [lease('orphan', OF_WORKER, seconds(13)), lease('typed', 'run -c a.yaml')],
  },
  queue: {
    worked: async () =>
      ['starts', 'lost'].map((one) => ({
        job: { ...job(one), ...(one === 'starts' && { madeUpFor: now }) },
        since: now - seconds(2),
      })),
    waiting: async () =>
      [seconds(60), 0].map((after) => ({ job: job(`after-${after}`), since: now, from: now + after })),
    deadLetters: async () => [
      letter('later', seconds(10), null, 'look at its memory'),
      {
        ...letter('flagged', seconds(70), 2, 'go on with foliopipe run'),
        from: { host: 'vm', files: ['/cfg/b.yaml', '/cfg/my c.yaml'], settings: ['chunks.maxRecords=5'] },
      },
      letter('earlier', seconds(60), 9, 'to buy them, type foliopipe enqueue --again --yes earlier'),
    ],
  },
} as unknown as OpenFleet;

it('shows workers that are gone, runs of lost workers, and dead letters in their order', async () => {
  const facts = await readFleet(fleet);
  expect(facts.workers.at(-1)).toMatchObject({ state: 'gone', isAlive: false, pipelines: [] });
  expect(facts.runs.map(({ pipeline, isJob }) => [pipeline, isJob])).toEqual([
    ['lost', true],
    ['orphan', true],
    ['starts', true],
    ['typed', false],
  ]);
  expect(facts.waiting.map(({ pipeline }) => pipeline)).toEqual(['after-0', 'after-60000']);
  const missed = ({ schedules }: FleetFacts) => schedules.map(({ missed: one }) => one?.at ?? null);
  expect(missed(facts)).toEqual([hoursAgo(2), hoursAgo(30), null]);
  const unwatched = await readFleet({ ...fleet, tables: { ...fleet.tables, workers: async () => [] } });
  expect(missed(unwatched)).toEqual([hoursAgo(2), hoursAgo(30), hoursAgo(5)]);
  const text = fleetText(facts, now);
  expect(text.split('\n').map((line) => line.trim())).toEqual(
    expect.arrayContaining([
      "next: go on with foliopipe run -c /cfg/b.yaml -c '/cfg/my c.yaml' --set chunks.maxRecords=5; then, if you have changed the config: foliopipe enqueue -c /cfg/b.yaml --set chunks.maxRecords=5 '/cfg/my c.yaml' (on vm); if not: foliopipe enqueue --again flagged",
      'earlier: exit 9, 1m ago on vm',
      'next: to buy them, type foliopipe enqueue --again -c /cfg/a.yaml --yes earlier; if you have changed the config: foliopipe enqueue /cfg/a.yaml (on vm)',
      'later: killed, 10s ago on vm',
      'next: look at its memory; then, if you have changed the config: foliopipe enqueue /cfg/a.yaml (on vm); if not: foliopipe enqueue --again later',
      '1 worker, 1 not heard from, and 1 gone',
      'vm 1  working, 1 of 2 runs  (foliopipe 0.1.0, Node 24.1.0)',
      'vm 2  working when it was last heard, 22s ago, 1 of 2 runs  (foliopipe 0.1.0, Node 24.1.0)',
      'vm 3  gone: not seen for 10m; forgotten after 1h  (foliopipe 0.1.0, Node 24.1.0)',
      `starts  starting for 2s, in place of ${iso(now)}, which was missed`,
      'lost  its worker was last heard 22s ago',
      expect.stringContaining(
        `; ${iso(hoursAgo(2))} was missed: no worker was running; the first one makes up for it`,
      ),
      expect.stringContaining(`; ${iso(hoursAgo(30))} was missed: no worker was running; too long ago`),
      'orphan  process 8506 on vm for 5s; last heard 13s ago: it may be lost, and its lease ends in 20s',
      'typed  process 8506 on vm for 5s, by hand and not by a worker; lease ends in 20s unless renewed',
    ]),
  );
  expect(text.indexOf('earlier: ')).toBeLessThan(text.indexOf('later: '));
});

const nothing = { workers: [], runs: [], waiting: [], schedules: [], deadLetters: [] };
const alive = { ...worker(1, 100), state: 'working' as const, isAlive: true };

it.each<[string, Partial<DeadLetter['problem']>, readonly string[], string]>([
  ['no hint', { hint: null }, [], 'foliopipe enqueue --again east'],
  ['a hint', { hint: 'look at it' }, [], 'look at it; then: foliopipe enqueue --again east'],
  [
    'a limit that --yes lifts',
    { exitCode: 9, hint: 'add --yes' },
    [],
    'add --yes; then: foliopipe enqueue --again --yes east',
  ],
  [
    'a limit that it does not lift',
    { exitCode: 9, hint: 'wait for the month' },
    [],
    'wait for the month; then: foliopipe enqueue --again east',
  ],
  [
    'another exit code, whose hint has --yes',
    { exitCode: 2, hint: 'correct it; no --yes helps' },
    [],
    'correct it; no --yes helps; then: foliopipe enqueue --again east',
  ],
  [
    'a hint with the command',
    { hint: 'type foliopipe enqueue --again east' },
    [],
    'type foliopipe enqueue --again east',
  ],
  [
    'no hint, and a file',
    { hint: null },
    ['/cfg/a.yaml'],
    'if you have changed the config: foliopipe enqueue /cfg/a.yaml (on vm); if not: foliopipe enqueue --again east',
  ],
])('says what puts back a run that waits with %s', (_, problem, files, next) => {
  const one = letter('east', seconds(10), 4, '');
  const told = { ...one, from: { host: 'vm', files }, problem: { ...one.problem, run: 'R7', ...problem } };
  const lines = fleetText({ ...nothing, deadLetters: [told] }, now).split('\n');
  expect(lines.slice(0, 2)).toEqual([
    '1 run waits for a person',
    `  east, run R7: exit ${problem.exitCode ?? 4}, 10s ago on vm`,
  ]);
  expect(lines[3]).toBe(`    next: ${next}`);
});

it('says that no worker is running only where something waits for one', () => {
  const advice = 'no worker is running; start one with: foliopipe worker';
  const waits = { pipeline: 'east', since: now, from: now, trouble: null, madeUpFor: null };
  const waiting = [waits, { ...waits, pipeline: 'west' }];
  expect(fleetText({ ...nothing, waiting }, now)).toContain(`2 jobs wait\n  east  waits for 0s`);
  expect(fleetText({ ...nothing, waiting }, now)).toContain(advice);
  expect(fleetText({ ...nothing, waiting, workers: [alive] }, now)).not.toContain(advice);
  const deadLetters = [letter('east', 0, 4, 'h'), letter('west', 0, 4, 'h')];
  const letters = fleetText({ ...nothing, deadLetters }, now);
  expect(letters).toContain('2 runs wait for a person');
  expect(letters).not.toContain(advice);
  expect(fleetText({ ...nothing, workers: [alive] }, now)).toBe(
    '1 worker\n  vm 1  working, 0 of 2 runs  (foliopipe 0.1.0, Node 24.1.0)\n',
  );
  expect(fleetText(nothing, now)).toContain('nothing here yet: enqueue a run with: foliopipe enqueue');
});
