/** The client as a real process of the built command line; the service, and what it remembers. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseFaults } from '../../../dist/src/service/faults/read-faults.js';
import { openService } from '../../../dist/src/service/open-service.js';
import { openSqlite } from '../../../dist/src/sqlite-driver.js';
import { TOKEN } from './job.js';

const cli = fileURLToPath(new URL('../../../dist/bundle/cli.js', import.meta.url));
/** A client that takes longer is killed. */
const LONGEST_MS = 120_000;

const alive = new Set();
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

/**
 * The local service on the cell's data folder; with rules it has faults.
 * @param port 0 takes a free one; the address of a run is frozen, so its next service must have the same.
 */
export async function startService(folder, { rules, port = 0 }) {
  let hits = 0;
  const logger = {
    info: (_fields, message) => {
      if (message.startsWith('faults hit ')) hits += 1;
    },
    warn: () => {},
    error: () => {},
  };
  const options = {
    host: '127.0.0.1',
    port: Number(port),
    token: TOKEN,
    dataDir: join(folder, 'service'),
    predictor: 'hash',
    faults: parseFaults({ seed: 7, rules: rules ?? [] }),
    logger,
  };
  for (let attempt = 1; ; attempt++) {
    try {
      const { baseUrl, close } = await openService(options);
      return { url: baseUrl, stop: close, hits: () => hits };
    } catch (error) {
      // Another process may have been given the port between the two services.
      if (error.code !== 'SERVICE_CANNOT_LISTEN' || attempt === 5) throw error;
      await sleep(200);
    }
  }
}

/** @returns `{ code, summary, stderr }`: the exit code, the last JSON line, and stderr, a log record a line. */
export async function runClient(args) {
  // The collector's helper threads, and collections of a heap that is still small, cost an eighth of the CPU.
  const flags = ['--single-threaded-gc', '--initial-old-space-size=256'];
  const words = [...flags, cli, ...args, '--json', '--log-level', 'warn', '--log-format', 'json'];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  alive.add(child);
  child.once('close', () => alive.delete(child));
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
  return { code, summary: last === '' ? {} : JSON.parse(last), stderr: said.stderr };
}

/** How many folios a service has ever given out; it must have ended. */
export function countFolios(folder) {
  const database = openSqlite(join(folder, 'service', 'service.db'), { readonly: true });
  try {
    return database.prepare('SELECT count(*) AS folios FROM folios').get().folios;
  } finally {
    database.close();
  }
}
