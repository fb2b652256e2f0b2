/** How the command line tells an error. */
import { expect } from 'vitest';
import type { CliEnd } from './cli.js';

/** What with its code, and what to type next; no stack, nothing on stdout. */
export function expectError(
  { code, stdout, stderr }: Omit<CliEnd, 'signal'>,
  expected: number,
  told: RegExp,
): void {
  expect(stderr).toMatch(/^foliopipe: .+ \[[A-Z_]+\]\n {2}next: .+$/ms);
  expect(stderr).toMatch(told);
  expect(stderr).not.toMatch(/^ {4}at /m);
  expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
}
