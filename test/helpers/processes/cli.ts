/** Runs the built command `foliopipe` in a process of its own. */
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { lineProblems } from './event-problems.js';

const cliPath = fileURLToPath(new URL('../../../dist/bundle/cli.js', import.meta.url));

/**
 * For Node, in front of the command. The collector's helper threads, and collections of a heap that is still small, cost
 * a short command an eighth of its CPU.
 */
export const nodeFlags = ['--single-threaded-gc', '--initial-old-space-size=256'];

export interface CliOptions {
  readonly cwd?: string;
  /** Added to an environment that has none of foliopipe's variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** Written to stdin, which is then closed. Left out: stdin is /dev/null. An iterable that never ends keeps it open. */
  readonly input?: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;
}

export interface CliEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliProcess {
  readonly pid: number;
  readonly ended: Promise<CliEnd>;
  /** Waits until stdout or stderr matches; rejects if the process ends without a match. */
  waitFor(stream: 'stdout' | 'stderr', pattern: RegExp): Promise<RegExpExecArray>;
  kill(signal: NodeJS.Signals): void;
  /** Stops reading stdout and stderr, like a closed terminal. */
  stopReading(): void;
}

/** Running children; killed when this process exits, so that a failed test leaves none behind. */
const alive = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

export function spawnCli(args: readonly string[], options: CliOptions = {}): CliProcess {
  const { PATH = '', HOME = '', TMPDIR = '/tmp' } = process.env;
  const child = spawn(process.execPath, [...nodeFlags, cliPath, ...args], {
    cwd: options.cwd,
    env: { PATH, HOME, TMPDIR, NO_COLOR: '1', ...options.env },
    stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  }) as ChildProcessByStdio<Writable | null, Readable, Readable>;
  alive.add(child);
  if (options.input !== undefined) {
    // A command that has ended reads no more.
    pipeline(Readable.from(options.input), child.stdin!).catch(() => undefined);
  }
  const output = { stdout: '', stderr: '' };
  const watchers = new Set<() => void>();
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text;
      for (const look of watchers) look();
    });
  }
  const ended = new Promise<CliEnd>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      alive.delete(child);
      resolve({ code, signal, ...output });
    });
  });

  return {
    pid: child.pid!,
    ended,
    waitFor: (stream, pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(output[stream]);
          if (found === null) return;
          watchers.delete(look);
          resolve(found);
        };
        watchers.add(look);
        void ended.then(({ code, stdout, stderr }) => {
          look();
          reject(
            new Error(
              `foliopipe ${args.join(' ')} ended with ${code} before ${pattern}\n${stdout}\n${stderr}`,
            ),
          );
        }, reject);
        look();
      }),
    kill: (signal) => void child.kill(signal),
    stopReading: () => {
      child.stdout.destroy();
      child.stderr.destroy();
    },
  };
}

export function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliEnd> {
  return spawnCli(args, options).ended;
}

/**
 * Runs the command, which must kill itself at a failpoint.
 * @param armed the failpoint and, after a colon, at which passing.
 */
export async function killCliAt(
  armed: string,
  args: readonly string[],
  { env, ...options }: CliOptions = {},
): Promise<CliEnd> {
  const end = await runCli(args, { ...options, env: { ...env, FOLIOPIPE_CRASH_AT: armed } });
  expect(end, `${armed}: ${end.stderr}`).toMatchObject({ signal: 'SIGKILL' });
  return end;
}

/** Parses one JSON object per line; throws on any other line. */
export function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const value = JSON.parse(line) as unknown;
      if (typeof value !== 'object' || value === null) throw new Error(`no JSON object: ${line}`);
      return value as Record<string, unknown>;
    })
    .map((line) => {
      const problems = lineProblems(line);
      if (problems.length > 0) {
        throw new Error(`config/events.schema.json: ${problems.join('; ')}: ${JSON.stringify(line)}`);
      }
      return line;
    });
}
