/** The client and the service as real processes of the built command line, and what the service remembers. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { TOKEN } from './job.js';

const cli = fileURLToPath(new URL('../../../dist/bundle/cli.js', import.meta.url));
/** A client that takes longer has gone astray. */
const LONGEST_MS = 120_000;

const alive = new Set();
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

function start(args, stdio) {
  const child = spawn(process.execPath, [cli, ...args], { stdio });
  alive.add(child);
  child.once('close', () => alive.delete(child));
  return child;
}

/**
 * `foliopipe serve` on the cell's data folder; with rules it misbehaves.
 * @param port 0 takes a free one; the address of a run is frozen, so its next service must have the same.
 */
export async function startService(folder, { rules, port = 0 }) {
  const args = ['serve', '--port', `${port}`, '--token', TOKEN, '--predictor', 'hash'];
  args.push('--data', join(folder, 'service'));
  if (rules !== undefined) {
    const file = join(folder, 'faults.yaml');
    writeFileSync(file, JSON.stringify({ seed: 7, rules }));
    args.push('--faults', file);
  }
  for (let attempt = 1; ; attempt++) {
    const child = start(args, ['ignore', 'pipe', 'pipe']);
    let said = '';
    child.stderr.on('data', (text) => {
      said += text;
    });
    for await (const line of createInterface({ input: child.stdout })) {
      const found = /listening on (\S+)/.exec(line);
      if (found)
        return {
          url: found[1],
          stop: () => stop(child),
          hits: () => said.split('faults hit a call').length - 1,
        };
    }
    // Another process may have been given the port between the two services.
    if (attempt === 5) throw new Error(`the service ended before it listened: ${said}`);
    await sleep(200);
  }
}

async function stop(child) {
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  await closed;
}

/** @returns `{ code, summary, told }`: the exit code, the last JSON line, and stderr, a log record a line. */
export async function runClient(args) {
  const child = start(
    [...args, '--json', '--log-level', 'warn', '--log-format', 'json'],
    ['ignore', 'pipe', 'pipe'],
  );
  const said = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr']) {
    child[stream].setEncoding('utf8').on('data', (text) => {
      said[stream] += text;
    });
  }
  const timer = setTimeout(() => child.kill('SIGKILL'), LONGEST_MS);
  const [code] = await once(child, 'close');
  clearTimeout(timer);
  const last = said.stdout.trimEnd().split('\n').at(-1);
  return { code, summary: last === '' ? {} : JSON.parse(last), told: said.stderr };
}

/** How many folios a service has ever given out; it must have ended. */
export function countFolios(folder) {
  const database = new Database(join(folder, 'service', 'service.db'), { readonly: true });
  try {
    return database.prepare('SELECT count(*) AS folios FROM folios').get().folios;
  } finally {
    database.close();
  }
}
