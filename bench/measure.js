/** Runs a program as a process of its own and measures it: seconds, CPU seconds, peak memory. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cpuOfFamily } from './timed.js';

const preload = new URL('measure-exit.js', import.meta.url).href;

/**
 * Runs a Node program. Adds what it prints as JSON to the figures: some of them only the program itself knows.
 * @param args script first.
 * @param env more variables of its environment.
 * @throws when it ends with a code other than 0.
 */
export async function measureNode(args, env = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'foliopipe-usage-'));
  const usage = join(folder, 'usage.json');
  try {
    const began = performance.now();
    const child = spawn(process.execPath, ['--import', preload, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...NO_CERTIFICATES, ...env, FOLIOPIPE_BENCH_USAGE: usage },
    });
    const { code, out, err } = await ended(child);
    const wallSeconds = (performance.now() - began) / 1000;
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${err}`);
    return { wallSeconds, ...JSON.parse(readFileSync(usage, 'utf8')), ...parsed(out) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Some machines name a file of certificates, which Node 20 reads at each start: 35 ms that must not be measured. */
const NO_CERTIFICATES = { NODE_EXTRA_CA_CERTS: undefined };

/**
 * Runs any program and times it from outside; what it prints is thrown away. Its CPU seconds are known on Linux only,
 * and only while no other program is measured.
 */
export async function measureCommand(command, args) {
  const before = cpuOfFamily(process.pid);
  const own = process.cpuUsage();
  const began = performance.now();
  const [code] = await once(spawn(command, args, { stdio: 'ignore' }), 'exit');
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}`);
  const wallSeconds = (performance.now() - began) / 1000;
  if (before === undefined) return { wallSeconds };
  const { user, system } = process.cpuUsage(own);
  return { wallSeconds, cpuSeconds: cpuOfFamily(process.pid) - before - (user + system) / 1e6 };
}

/** Waits for a process and keeps what it printed. */
export async function ended(child) {
  let out = '';
  let err = '';
  child.stdout?.on('data', (text) => {
    out += text;
  });
  child.stderr?.on('data', (text) => {
    err += text;
  });
  const [code, signal] = await once(child, 'close');
  return { code, signal, out, err };
}

/** The last line that a program printed, where that is an object. */
function parsed(out) {
  const last = out.trimEnd().split('\n').at(-1);
  return last.startsWith('{') ? JSON.parse(last) : {};
}
