/** A run killed when most of it is done: how soon the next one asks for something new. */
import { spawn } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openCheckpointReader } from '../../dist/src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import { CHUNK_RECORDS, writeJob } from '../job.js';
import { ended } from '../measure.js';
import { openProxy } from '../proxy.js';
import { within } from '../rows.js';
import { cli, withService } from '../service.js';

const DONE_SHARE = 0.9;

export const resume = {
  title: 'Resume',
  async run(lab) {
    const records = lab.recordsOr(10_000_000);
    const source = await lab.source(records);
    const work = lab.emptyFolder('resume');
    const { seconds, readMB, allReadMB } = await withService(`${work}/service`, async (serviceUrl) => {
      const proxy = await openProxy(serviceUrl);
      try {
        const config = writeJob({ source, work, baseUrl: proxy.url });
        const first = startClient(config);
        const end = ended(first);
        await merged(`${work}/state`, Math.floor((DONE_SHARE * records) / CHUNK_RECORDS), first);
        first.kill('SIGKILL');
        await end;
        return await resumed(config, proxy);
      } finally {
        await proxy.close();
      }
    });
    return {
      notes: [
        `${records} records, the client killed with SIGKILL when ${100 * DONE_SHARE} % of them were merged, and started again.`,
        'From its start to its first request; and what it had read from files and sockets by then, and at its end, its own program included.',
        `The source has ${megabytes(source)} MB and the output ${megabytes(`${work}/out.csv`)} MB, which is hashed before it is put in place.`,
        'No chunk was sent twice except those in flight at the kill.',
      ],
      rows: [
        within({ what: 'start to first request', values: [seconds], unit: 's', atMost: 3 }),
        within({ what: 'read before it', values: [readMB], unit: 'MB' }),
        within({ what: 'read until its end', values: [allReadMB], unit: 'MB' }),
      ],
    };
  },
};

function startClient(config) {
  return spawn(process.execPath, [cli, 'run', config, '--log-level', 'warn'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}

/** Waits until this many chunks are merged. */
async function merged(stateDir, chunks, client) {
  for (;;) {
    if (client.exitCode !== null) throw new Error(`the client ended with ${client.exitCode} too early`);
    const reader = await openCheckpointReader(stateDir);
    const [run] = (await reader?.runs()) ?? [];
    const last = run && (await reader.lastStretch(run.id));
    await reader?.close();
    if ((last?.number ?? 0) >= chunks) return;
    await sleep(200);
  }
}

async function resumed(config, proxy) {
  const began = performance.now();
  const client = startClient(config);
  let first;
  proxy.onRequest = () => {
    first = { seconds: (performance.now() - began) / 1000, readMB: readBytes(client.pid) / 1e6 };
  };
  let allReadMB = 0;
  const watch = setInterval(() => {
    allReadMB = readBytes(client.pid) / 1e6 || allReadMB;
  }, 20);
  const { code, err } = await ended(client);
  clearInterval(watch);
  if (code !== 0) throw new Error(`the resumed client ended with ${code}: ${err}`);
  if (first === undefined) throw new Error('nothing was left to ask for: too few records');
  const { uploads, chunks } = JSON.parse(readFileSync(manifestOf(config), 'utf8'));
  // Those in flight when it was killed may have been accepted: only they may be sent again.
  if (uploads.accepted + uploads.ambiguous > chunks.length + uploads.resubmitted)
    throw new Error(`${uploads.accepted} uploads of ${chunks.length} chunks`);
  return { ...first, allReadMB };
}

function megabytes(path) {
  return (statSync(path).size / 1e6).toFixed(0);
}

function manifestOf(config) {
  return `${JSON.parse(readFileSync(config, 'utf8')).output.path}.manifest.json`;
}

/** What a process has read so far, from files and sockets, as Linux counts it; nothing once it is gone. */
function readBytes(pid) {
  try {
    return Number(/^rchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
  } catch {
    return Number.NaN;
  }
}
