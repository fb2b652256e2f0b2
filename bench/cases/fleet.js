/**
 * A worker of a fleet: its statements while it has nothing to do, and the memory of the worker and its run's process
 * together. Memory that processes share, such as the program of Node, counts once (PSS). Needs Node 22.12.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadPgBoss } from '../../dist/src/fleet/pg-boss.js';
import { TOKEN, writeJob } from '../job.js';
import { program } from '../lab.js';
import { withPostgres } from '../postgres.js';
import { within } from '../rows.js';
import { cli, withService } from '../service.js';

const IDLE_MS = 60_000;
const LOOK_MS = 50;

export const fleet = {
  title: 'A worker of a fleet',
  /** @returns why it cannot be measured here. */
  missing: () =>
    loadPgBoss(process.versions.node).then(
      () => undefined,
      ({ message }) => message,
    ),
  async run(lab) {
    const records = lab.recordsOr(1_000_000);
    const source = await lab.source(records);
    return withPostgres(lab.path('fleet-server'), (url) =>
      withService(lab.path('fleet-service'), async (baseUrl) => {
        Object.assign(process.env, { FOLIOPIPE_STATE: url, FOLIOPIPE_TOKEN: TOKEN });
        const idle = await idleWorker(lab);
        const work = lab.emptyFolder('fleet-job');
        const service = { token: `\${FOLIOPIPE_TOKEN}` };
        const config = writeJob({ source, work, baseUrl }, { service }, { stateDir: undefined });
        execFileSync(process.execPath, [cli, 'enqueue', config]);
        const busy = await busyWorker(lab);
        return {
          notes: [
            `${records} records in one run. A worker that waits for jobs for ${IDLE_MS / 1000} s, and one with that run; memory every ${LOOK_MS} ms, the highest.`,
          ],
          rows: [
            within({
              what: 'idle worker, statements a second',
              values: [idle.queries],
              unit: '',
              atMost: 10,
            }),
            within({ what: 'idle worker, memory', values: [idle.worker], unit: 'MB' }),
            within({ what: 'worker with one run, both', values: [busy.both], unit: 'MB', atMost: 160 }),
            within({ what: 'worker with one run, the worker', values: [busy.worker], unit: 'MB' }),
            within({ what: 'worker with one run, the run', values: [busy.run], unit: 'MB' }),
          ],
        };
      }),
    );
  },
};

async function idleWorker(lab) {
  const worker = startWorker(lab, ['--import', program('count-queries.js')]);
  await worker.says(/up to 1 run at once/);
  await sleep(IDLE_MS);
  const memory = pssOf(worker.pid);
  const { queries } = JSON.parse(await worker.end());
  return { queries: queries / (IDLE_MS / 1000), worker: memory };
}

async function busyWorker(lab) {
  const worker = startWorker(lab, []);
  const done = worker.says(/: done, exit 0/);
  const most = { both: 0, worker: 0, run: 0 };
  let isDone = false;
  done.then(() => {
    isDone = true;
  });
  while (!isDone) {
    const own = pssOf(worker.pid);
    const run = childrenOf(worker.pid).reduce((sum, pid) => sum + pssOf(pid), 0);
    if (run > 0 && own + run > most.both) Object.assign(most, { both: own + run, worker: own, run });
    await sleep(LOOK_MS);
  }
  await worker.end();
  return most;
}

function startWorker(lab, options) {
  const cwd = lab.emptyFolder('fleet-worker');
  const child = spawn(process.execPath, [...options, cli, 'worker'], { cwd });
  const lines = createInterface({ input: child.stderr });
  let printed = '';
  child.stdout.on('data', (text) => {
    printed += text;
  });
  return {
    pid: child.pid,
    says: (pattern) =>
      new Promise((resolve, reject) => {
        lines.on('line', (line) => pattern.test(line) && resolve());
        child.once('exit', (code) => reject(new Error(`the worker ended with ${code} before ${pattern}`)));
      }),
    /** @returns what it has printed. */
    end: async () => {
      child.kill('SIGTERM');
      await once(child, 'close');
      return printed;
    },
  };
}

/** In MB; 0 for a process that has ended. */
function pssOf(pid) {
  try {
    const [, kilobytes] = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')) ?? [];
    return Number(kilobytes ?? 0) / 1024;
  } catch {
    return 0;
  }
}

function childrenOf(pid) {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return all.filter((name) => {
    try {
      return readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1].split(' ')[1] === String(pid);
    } catch {
      return false;
    }
  });
}
