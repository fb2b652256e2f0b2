/** Runs the command line in this process, where a separate process would prove nothing more. */
import { expect } from 'vitest';
import { main } from '../../../src/cli/main.js';
import type { CliEnd, CliOptions } from './cli.js';

let isCalling = false;

/**
 * Gives the exit code and the output of `main`. Replaces arguments, folder and environment of this process during the
 * call.
 * @throws if another call has not ended: both together would leave the environment of one behind.
 */
export async function callMain(
  args: readonly string[],
  { cwd = process.cwd(), env = {} }: CliOptions = {},
): Promise<Omit<CliEnd, 'signal'>> {
  if (isCalling) throw new Error('another call has not ended');
  isCalling = true;
  const { argv, env: ourEnv, stdout, stderr } = process;
  const ours = { cwd: process.cwd(), stdout: stdout.write, stderr: stderr.write };
  const said = { stdout: '', stderr: '' };
  const listen = (name: 'stdout' | 'stderr') => (text: string) => {
    said[name] += text;
    return true;
  };
  process.argv = ['node', 'foliopipe', ...args];
  const { PATH = '', HOME = '', TMPDIR = '/tmp' } = ourEnv;
  process.env = { PATH, HOME, TMPDIR, NO_COLOR: '1', ...env };
  process.chdir(cwd);
  stdout.write = listen('stdout');
  stderr.write = listen('stderr');
  try {
    return { code: await main(process.argv), ...said };
  } finally {
    stdout.write = ours.stdout;
    stderr.write = ours.stderr;
    process.chdir(ours.cwd);
    process.env = ourEnv;
    process.argv = argv;
    isCalling = false;
  }
}

/** Expects an error with its code and the next command on stderr, no stack, and nothing on stdout. */
export function expectError(
  { code, stdout, stderr }: Omit<CliEnd, 'signal'>,
  expected: number,
  message: RegExp,
): void {
  expect(stderr).toMatch(/^foliopipe: .+ \[[A-Z_]+\]\n {2}next: .+$/ms);
  expect(stderr).toMatch(message);
  expect(stderr).not.toMatch(/^ {4}at /m);
  expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
}
