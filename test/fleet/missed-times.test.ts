import { expect, it } from 'vitest';
import { createMakeUp, findMissed, UNWATCHED_SETTLED_MS } from '../../src/fleet/missed-times.js';
import { silentLogger } from '../../src/logger.js';

const at = (text: string) => Date.parse(`2026-11-${text}:00Z`);
const iso = (time: number) => new Date(time).toISOString().slice(8, 16);
/** A schedule at 01:00 that was registered on the 10th. */
const schedule = (now: string, changes: object = {}) => ({
  pipeline: 'nightly',
  cron: '0 1 * * *',
  timeZone: 'UTC',
  since: at('10T12:00'),
  now: at(now),
  ...changes,
});

it.each([
  // Its job was made in time, or later by hand.
  ['23T09:00', '23T01:00', {}, null],
  ['23T09:00', '23T08:00', {}, null],
  // Only the last time counts, however many were missed.
  ['23T09:00', '20T01:00', {}, { at: '23T01:00', isMadeUp: true }],
  ['23T09:00', null, {}, { at: '23T01:00', isMadeUp: true }],
  // pg-boss may make its job yet.
  ['23T01:01', '22T01:00', {}, null],
  ['23T01:02', '22T01:00', {}, { at: '23T01:00', isMadeUp: true }],
  // It was registered since.
  ['23T09:00', null, { since: at('23T08:00') }, null],
  // The 23rd is a Monday.
  ['24T01:00', '10T01:00', { cron: '0 1 * * 1' }, { at: '23T01:00', isMadeUp: true }],
  ['24T01:01', '10T01:00', { cron: '0 1 * * 1' }, { at: '23T01:00', isMadeUp: false }],
  // Whether it had a job is known no longer.
  ['29T02:00', '10T01:00', { cron: '0 1 * * 1' }, null],
  ['23T09:00', '22T01:00', { timeZone: 'Europe/Zurich' }, { at: '23T00:00', isMadeUp: true }],
])('at %s, served until %s %j', (now, served, changes, expected) => {
  const found = findMissed(schedule(now, changes), served === null ? undefined : at(served));
  expect(found && { ...found, at: iso(found.at) }).toEqual(expected);
});

it('tells a time of a minute ago while no worker is running', () => {
  const last = at('22T01:00');
  expect(findMissed(schedule('23T01:01'), last, UNWATCHED_SETTLED_MS)).toEqual({
    at: at('23T01:00'),
    isMadeUp: true,
  });
});

it('makes up for a time once, and says once what is too old', async () => {
  const rows = [
    schedule('23T09:00'),
    schedule('24T09:00', { pipeline: 'weekly', cron: '0 1 * * 1' }),
    schedule('23T09:00', { pipeline: 'done' }),
  ];
  let asked = 0;
  const served = async () => {
    asked += 1;
    return new Map([
      ['nightly', at('22T01:00')],
      ['done', at('23T01:00')],
    ]);
  };
  const made: unknown[] = [];
  const said: string[] = [];
  const queue = { makeUp: async (pipeline: string, time: number) => made.push([pipeline, iso(time)]) > 0 };
  const warn = (fields: object, text: string) => {
    // The log line has a time of its own.
    expect(fields).not.toHaveProperty('time');
    said.push(text);
  };
  const logger = { ...silentLogger, warn };
  const makeUp = createMakeUp(queue, { schedules: async () => rows, served }, logger);
  for (let looks = 0; looks < 3; looks++) await makeUp();
  expect(asked).toBe(1);
  expect(made).toEqual([['nightly', '23T01:00']]);
  expect(said).toEqual([
    expect.stringMatching(
      /^nightly: nothing was begun at 2026-11-23T01:00:00.000Z, 8h ago: .*: it is made up for now$/,
    ),
    expect.stringMatching(/^weekly: .* too long to make up for it: foliopipe enqueue begins a run now$/),
  ]);
});
