/** The rule "Paid requests are not retried blindly" as a table. */
import { describe, expect, test } from 'vitest';
import type { Failure } from '../../src/api/failure.js';
import type { Operation } from '../../src/api/requests.js';
import { decideRetry, isConclusive, isMissing } from '../../src/api/retry-decision.js';

const OPERATIONS: Operation[] = ['upload', 'track', 'download', 'search'];
const status = (code: number, fromService = true): Failure => ({
  kind: 'status',
  status: code,
  retryAfter: 7,
  fromService,
  message: '',
});
const network = (kind: 'unsent' | 'cut' | 'misconfigured'): Failure => ({ kind, code: 'X', message: '' });

/** A failure, and the decision for upload, track, download and search. */
const table: [string, Failure, string, string, string, string][] = [
  ['nothing sent', network('unsent'), 'retry', 'retry', 'retry', 'retry'],
  ['cut after it began', network('cut'), 'no-reply', 'retry', 'retry', 'no-reply'],
  ['misconfigured', network('misconfigured'), ...all('misconfigured')],
  [
    'malformed',
    { kind: 'malformed', message: '', breach: null },
    'unreadable',
    'retry',
    'retry',
    'unreadable',
  ],
  ...[300, 301, 302, 303, 304, 307, 308, 399].map((code) =>
    row(code, 'redirected', 'refused', 'refused', 'redirected'),
  ),
  ...[400, 401, 402, 403, 405, 406, 413, 415, 422, 451].map((code) => row(code, ...all('refused'))),
  ...[404, 410].map((code) => row(code, 'refused', 'retry', 'retry', 'refused')),
  row(409, 'refused', 'refused', 'retry', 'refused'),
  ...[408, 425, 429, 503].map((code) => row(code, ...all('retry'))),
  row(501, 'refused', 'retry', 'retry', 'refused'),
  ...[500, 502, 504, 520, 599].map((code) => row(code, 'no-reply', 'retry', 'retry', 'no-reply')),
  row(600, 'no-reply', 'retry', 'retry', 'no-reply'),
];

function all(kind: string): [string, string, string, string] {
  return [kind, kind, kind, kind];
}

function row(code: number, ...kinds: [string, string, string, string]): (typeof table)[number] {
  return [`HTTP ${code}`, status(code), ...kinds];
}

describe.each(table)('%s', (_name, failure, ...kinds) => {
  test.each(OPERATIONS.map((operation, index) => [operation, kinds[index]!] as const))(
    'of %s: %s',
    (operation, kind) => {
      expect(decideRetry(operation, failure, false).kind).toBe(kind);
    },
  );
});

test('only 429 and 503 pass on the time that the service named', () => {
  expect(decideRetry('upload', status(429), false)).toEqual({ kind: 'retry', after: 7 });
  expect(decideRetry('track', status(503), false)).toEqual({ kind: 'retry', after: 7 });
  expect(decideRetry('track', status(500), false)).toEqual({ kind: 'retry', after: null });
});

describe.each([404, 410])('HTTP %i, said once more of what has been missing for a long time', (code) => {
  test.each([
    ['track', 'lost'],
    ['download', 'lost'],
    ['upload', 'refused'],
    ['search', 'refused'],
  ] as const)('of %s: %s', (operation, kind) => {
    expect(decideRetry(operation, status(code), true).kind).toBe(kind);
  });

  test("is an outage if the body is not the service's", () => {
    expect(isMissing(status(code))).toBe(true);
    expect(isMissing(status(code, false))).toBe(false);
    expect(decideRetry('track', status(code, false), true)).toEqual({ kind: 'retry', after: null });
  });
});

test.each([
  ['often enough and long enough', 6, 1000, true],
  ['more often, and longer', 60, 9000, true],
  ['often enough, and not for long', 600, 999, false],
  ['for long, and not often', 5, 1_000_000, false],
])('what is missing %s', (_, count, duration, lost) => {
  expect(isConclusive({ count, duration }, 1000)).toBe(lost);
});
