/**
 * Several pipelines over several workers, which are killed and stopped at random moments: whole machines or only their
 * runs, between intent and reply, within transactions, and together with their database. Then proves that each output is
 * that of an unbroken run, byte for byte, that no upload went unreported, that no permit and no lease is left, and that
 * each run went on elsewhere in time.
 * npm run prove:fleet -- [--kills 100] [--seed 1] [--pipelines 4] [--workers 3] [--records 1500]
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDice } from '../../bench/dice.js';
import { readOptions } from '../../bench/read-options.js';
import { startDatabase } from './fleet/database.js';
import { proveNothingLeft, proveOutput } from './fleet/proofs.js';
import { DATABASE_AWAY_MS, LEASE_MS, strike } from './fleet/strike.js';
import { watchLeases } from './fleet/watch-leases.js';
import { command, startWorker } from './fleet/workers.js';
import { writeSources } from './kill/job.js';
import { kill, startService } from './kill/processes.js';

const { values } = readOptions(
  'npm run prove:fleet -- [--kills N] [--seed N] [--pipelines N] [--workers N] [--records N]',
  {
    kills: { type: 'count', default: '100' },
    seed: { type: 'count', least: 0, default: '1' },
    pipelines: { type: 'count', default: '4' },
    workers: { type: 'count', default: '3' },
    records: { type: 'count', default: '1500' },
  },
);
/** A run goes on elsewhere within this time. */
const RECOVERY_MS = LEASE_MS + 10_000;

const { kills: wanted, pipelines } = values;
const random = createDice(values.seed);
const folder = mkdtempSync(join(tmpdir(), 'foliopipe-fleet-'));
const totals = {
  killedWorkers: 0,
  stoppedWorkers: 0,
  killedRuns: 0,
  stoppedRuns: 0,
  failpoints: 0,
  inTransactions: 0,
  databaseStops: 0,
  nights: 0,
  uploads: 0,
  chunks: 0,
  ambiguous: 0,
  unsent: 0,
  putBack: 0,
};
const recoveries = [];
const strikes = () =>
  totals.killedWorkers + totals.stoppedWorkers + totals.killedRuns + totals.stoppedRuns + totals.failpoints;

const database = await startDatabase(join(folder, 'database'));
const env = { FOLIOPIPE_STATE: database.url, FOLIOPIPE_TOKEN: 'kill', FOLIOPIPE_LEASE_MS: `${LEASE_MS}` };
const SERVICE = { speed: 1200 };
let service = await startService(folder, 0, SERVICE);
const workers = new Set();
try {
  const names = Array.from({ length: pipelines }, (_, at) => `p${at + 1}`);
  const unbroken = new Map();
  for (const [at, name] of names.entries()) {
    const sources = join(folder, name);
    mkdirSync(sources);
    const [source] = writeSources(sources, { records: values.records, seed: at + 1, nights: 1 });
    unbroken.set(name, { source, output: await unbrokenOutput(name, source) });
  }
  for (let at = 0; at < values.workers; at++) workers.add(newWorker());
  while (strikes() < wanted) await breakNight(unbroken);
  for (const worker of workers) {
    const code = await worker.drain();
    if (code !== 0) throw new Error(`a drained worker ended with ${code}: ${worker.log()}`);
  }
  await proveNothingLeft(database);
  printTotals();
} catch (error) {
  console.error(
    `${error.stack ?? error}\nseed ${values.seed}, after ${strikes()} strikes: ${JSON.stringify(totals)}`,
  );
  for (const worker of workers) console.error(`--- a worker\n${worker.log().slice(-4000)}`);
  process.exitCode = 1;
} finally {
  for (const worker of workers) await worker.kill();
  await kill(service.process, 'SIGTERM');
  await database.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

function newWorker(more = {}) {
  return startWorker(folder, pipelines, { ...env, ...more });
}

function writeConfig(pipeline, source, work) {
  mkdirSync(work, { recursive: true });
  const file = join(work, 'foliopipe.yaml');
  const config = {
    pipeline,
    source: { path: source },
    upload: { columns: { name: 'BusinessName', address: 'Address', state: 'State' } },
    service: { baseUrl: service.url, token: `\${FOLIOPIPE_TOKEN}`, requestsPerSecond: 1000 },
    chunks: { maxRecords: 100 },
    concurrency: { uploads: 3, folios: 5, downloads: 2 },
    poll: { first: '50ms', max: '200ms' },
    retry: { first: '50ms', max: '200ms', giveUpAfter: '5s' },
    failures: { tolerate: 1 },
    output: { path: join(work, 'enriched.csv') },
    state: `\${FOLIOPIPE_STATE}`,
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

async function unbrokenOutput(name, source) {
  const work = join(folder, name, 'unbroken');
  const file = writeConfig(`unbroken-${name}`, source, work);
  const { code, stderr } = await command(['run', file], env);
  if (code !== 0) throw new Error(`the unbroken run ended with ${code}: ${stderr}`);
  return readFileSync(join(work, 'enriched.csv'));
}

/** Every pipeline once, on whichever workers are left. */
async function breakNight(unbroken) {
  totals.nights += 1;
  const night = [...unbroken].map(([name, { source, output }]) => {
    const pipeline = `${name}-n${totals.nights}`;
    const work = join(folder, name, pipeline);
    return { pipeline, work, output, file: writeConfig(pipeline, source, work) };
  });
  const { code, stderr } = await command(['enqueue', ...night.map(({ file }) => file)], env);
  if (code !== 0) throw new Error(`enqueue ended with ${code}: ${stderr}`);
  const began = Date.now();
  const watch = watchLeases(database, recoveries);
  try {
    while (!night.every(({ work }) => isDone(work))) {
      if (Date.now() - began > 20 * 60_000) throw new Error(`the night does not end: ${await fleetState()}`);
      await sleep(500 + random(6000));
      await putBack();
      if (strikes() < wanted) await strike({ workers, newWorker, database, totals, random, watch });
      await replaceGone();
    }
  } finally {
    await watch.end();
  }
  // The worker has yet to end the job.
  await settled();
  // The folios can be read only while the service is stopped.
  const { port } = new URL(service.url);
  await kill(service.process, 'SIGTERM');
  for (const one of night) await proveOutput({ folder, database, totals }, one);
  service = await startService(folder, Number(port), SERVICE);
  for (const { work } of night) rmSync(work, { recursive: true, force: true });
}

function isDone(work) {
  try {
    return readdirSync(work).some((name) => name.endsWith('_REHEARSAL'));
  } catch {
    return false;
  }
}

/** Replaces a machine that is gone, a little later, by an empty one, whose worker has no failpoint armed. */
async function replaceGone() {
  for (const worker of workers) {
    if (!worker.isGone()) continue;
    workers.delete(worker);
    await sleep(random(1500));
    workers.add(newWorker());
  }
}

/** Puts back runs that wait for a person because they crashed three times in a row: this script has struck them. */
async function putBack() {
  const rows = await database.ask(
    "SELECT data FROM foliopipe_jobs.job WHERE name = 'dead-letters' AND state < 'active'",
  );
  for (const { data } of rows ?? []) {
    const { pipeline, problem } = data;
    if (problem.code !== 'RUN_CRASHED')
      throw new Error(`${pipeline} waits for a person: ${JSON.stringify(problem)}`);
    totals.putBack += 1;
    const { code, stderr } = await command(['enqueue', '--again', pipeline], env);
    if (code !== 0 && code !== 5) throw new Error(`enqueue --again ended with ${code}: ${stderr}`);
  }
}

/** Waits until no job is left. */
async function settled() {
  for (const until = Date.now() + 120_000; Date.now() < until; await sleep(300)) {
    await putBack();
    await replaceGone();
    const rows = await database.ask(
      "SELECT 1 FROM foliopipe_jobs.job WHERE name = 'runs' AND state <= 'active'",
    );
    const leases = await database.ask('SELECT 1 FROM foliopipe.leases WHERE until > now()');
    if (rows?.length === 0 && leases?.length === 0) return;
  }
  throw new Error(`jobs or leases are left: ${await fleetState()}`);
}

async function fleetState() {
  const { out } = await command(['fleet', '--json'], env);
  return out;
}

function printTotals() {
  const sorted = recoveries.toSorted((a, b) => a - b);
  const worst = sorted.at(-1) ?? 0;
  const { nights, uploads, chunks, ambiguous } = totals;
  console.log(
    `seed ${values.seed}: ${totals.killedWorkers} workers killed (${totals.inTransactions} inside of transactions), ${totals.stoppedWorkers} stopped for longer than a lease; ` +
      `${totals.killedRuns} runs killed, ${totals.stoppedRuns} stopped; ${totals.failpoints} failpoints; the database stopped ${totals.databaseStops} times for ${DATABASE_AWAY_MS / 1000} s; ` +
      `${nights} nights of ${pipelines} pipelines: every output equal to the unbroken one; ${uploads} uploads of ${chunks} chunks, the ${ambiguous} more all reported as ambiguous; ${totals.unsent} killed before their POST; ` +
      `${totals.putBack} runs put back after three crashes; ${sorted.length} runs went on elsewhere, after ${seconds(sorted[sorted.length >> 1] ?? 0)} in the middle and ${seconds(worst)} at most (lease ${seconds(LEASE_MS)})`,
  );
  if (totals.failpoints > 3 && totals.unsent === 0) {
    console.error('no run was struck between its slot and its POST');
    process.exitCode = 1;
  }
  if (worst > RECOVERY_MS) {
    console.error(`a run went on only after ${seconds(worst)}, and ${seconds(RECOVERY_MS)} are promised`);
    process.exitCode = 1;
  }
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`;
}
