import { expect, it } from 'vitest';
import { accountText, leftFoliosHint } from '../../src/report/account-text.js';

const account = {
  service: 'predictions',
  open: 12,
  folios: 16,
  requestsPerSecond: 20,
  admitted: null,
  waiting: 0,
  pausedUntil: null,
  pipelines: [
    { pipeline: 'nightly', open: 8, isWorking: true },
    { pipeline: 'weekly', open: 4, isWorking: false },
  ],
};

it('says whose folios are open, which limits hold, and what is waited for', () => {
  expect(accountText(account, 0)).toBe(
    '12 of 16 folios open (nightly 8, weekly 4 without a process), 20 requests a second',
  );
  const held = { ...account, admitted: 12, waiting: 1, pausedUntil: 90_000 };
  expect(accountText(held, 60_000)).toBe(
    '12 of 16 folios open (nightly 8, weekly 4 without a process), the service has refused more than 12, 20 requests a second, 1 pipeline waits, paused by the service for 30s',
  );
  const idle = { ...account, open: 0, folios: null, requestsPerSecond: null, pipelines: [] };
  expect(accountText(idle, 0)).toBe('0 folios open, no pipeline works with it now');
});

it('names what fetches folios that nobody collects', () => {
  expect(leftFoliosHint(account)).toMatch(
    /^no process works on weekly: .*foliopipe collect.*foliopipe abandon/,
  );
  expect(leftFoliosHint({ ...account, pipelines: account.pipelines.slice(0, 1) })).toBeUndefined();
});
