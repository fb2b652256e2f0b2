/** Workers as machines: each a group of processes with a folder of its own, struck as a whole or only in its runs. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const cli = fileURLToPath(new URL('../../../dist/bundle/cli.js', import.meta.url));

let machines = 0;

/** @param env variables besides the environment of this process. */
export function startWorker(folder, runs, env) {
  machines += 1;
  const cwd = join(folder, `machine-${machines}`);
  mkdirSync(cwd);
  const child = spawn(process.execPath, [cli, 'worker', '--runs', `${runs}`, '--log-level', 'info'], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    // A group of its own.
    detached: true,
  });
  let log = '';
  child.stderr.on('data', (text) => {
    log = `${log}${text}`.slice(-20_000);
  });
  const exited = once(child, 'exit');
  const isGone = () => child.exitCode !== null || child.signalCode !== null;
  const group = (signal) => {
    try {
      process.kill(-child.pid, signal);
    } catch {
      // All of it has ended.
    }
  };
  return {
    pid: child.pid,
    isGone,
    log: () => log,
    /** The processes of its runs. */
    runs: () => childrenOf(child.pid),
    pause: () => group('SIGSTOP'),
    wake: () => group('SIGCONT'),
    /** The machine is gone, with its folder. */
    kill: async () => {
      group('SIGKILL');
      if (!isGone()) await exited;
      rmSync(cwd, { recursive: true, force: true, maxRetries: 5 });
    },
    drain: async () => {
      if (!isGone()) child.kill('SIGTERM');
      const [code] = await exited;
      return code;
    },
  };
}

function childrenOf(pid) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((each) => {
      try {
        return Number(readFileSync(`/proc/${each}/stat`, 'utf8').split(') ')[1].split(' ')[1]) === pid;
      } catch {
        return false;
      }
    });
}

/** Runs a command of foliopipe. @returns its exit code, and what it has printed on stdout (`out`) and stderr. */
export async function command(args, env) {
  const child = spawn(process.execPath, [cli, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let stderr = '';
  child.stdout.on('data', (text) => {
    out += text;
  });
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  const [code] = await once(child, 'close');
  return { code, out, stderr };
}
