/** The command line within this process, for what a process of its own would not prove better. */
import { main } from '../../src/cli/main.js';
import type { CliEnd, CliOptions } from './cli.js';

/**
 * What `main` answers and writes. It finds the arguments, folder and environment that a process of its own would
 * have: call it once at a time.
 */
export async function callMain(
  args: readonly string[],
  { cwd = process.cwd(), env = {} }: CliOptions = {},
): Promise<Omit<CliEnd, 'signal'>> {
  const { argv, env: ourEnv, stdout, stderr } = process;
  const ours = { cwd: process.cwd(), stdout: stdout.write, stderr: stderr.write };
  const said = { stdout: '', stderr: '' };
  const listen = (name: 'stdout' | 'stderr') => (text: string) => {
    said[name] += text;
    return true;
  };
  process.argv = ['node', 'foliopipe', ...args];
  process.env = { NO_COLOR: '1', ...env };
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
  }
}
