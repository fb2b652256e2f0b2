/**
 * Kills the client at random moments, and the service now and then, until each run ends. Now and then the client's
 * reader leaves or its terminal is closed instead, or the checkpoint loses its database, its log or a part of that, and
 * is recovered. Then proves that the output is that of an unbroken run, byte for byte, and that no upload went
 * unreported.
 * npm run prove:kill -- [--kills 500] [--seed 1] [--records 1500]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createDice } from '../../bench/dice.js';
import { openSqlite } from '../../dist/src/sqlite-driver.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const cli = join(root, 'dist/bundle/cli.js');
const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '500' },
    seed: { type: 'string', default: '1' },
    records: { type: 'string', default: '1500' },
  },
});
const wanted = Number(values.kills);
const random = createDice(Number(values.seed));
const folder = mkdtempSync(join(tmpdir(), 'foliopipe-kill-'));
const totals = {
  kills: 0,
  serviceKills: 0,
  hangUps: 0,
  lostReaders: 0,
  losses: 0,
  recovered: 0,
  runs: 0,
  starts: 0,
  uploads: 0,
  chunks: 0,
  ambiguous: 0,
};

try {
  const source = join(folder, 'source.csv');
  const generator = [
    join(root, 'bench/generate.js'),
    '--records',
    values.records,
    '--seed',
    values.seed,
    '--out',
    source,
  ];
  await once(spawn(process.execPath, generator), 'exit');
  const expected = await unbroken(source);
  while (totals.kills < wanted) await brokenRun(source, expected, join(folder, `run-${totals.runs + 1}`));
  console.log(
    `seed ${values.seed}: ${totals.kills} kills of the client and ${totals.serviceKills} of the service in ${totals.runs} runs, ` +
      `${totals.hangUps} closed terminals and ${totals.lostReaders} readers that left, ` +
      `${totals.losses} checkpoints that lost something, of which ${totals.recovered} had to be recovered; ` +
      `every output equal to the unbroken one; ${totals.uploads} uploads of ${totals.chunks} chunks, ` +
      `the ${totals.ambiguous} more all reported as ambiguous`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function unbroken(source) {
  const work = join(folder, 'unbroken');
  const service = await startService(work, 0);
  const config = writeConfig(work, source, service.url);
  const { code, told } = await runClient(config);
  if (code !== 0) throw new Error(`the unbroken run ended with ${code}: ${told}`);
  await kill(service.process, 'SIGTERM');
  return readFileSync(join(work, 'out/enriched.csv'));
}

/** One run, broken as often as chance has it, on a service of its own. */
async function brokenRun(source, expected, work) {
  let service = await startService(work, 0);
  const { port } = new URL(service.url);
  const config = writeConfig(work, source, service.url);
  for (let attempt = 1; ; attempt++) {
    if (attempt > 200) throw new Error('200 starts did not end the run');
    totals.starts += 1;
    const client = startClient(config);
    const doomed = totals.kills < wanted && attempt < 12;
    if (doomed) {
      const time = 60 + random(1400);
      if (random(6) === 0) {
        setTimeout(() => client.process.stderr.destroy(), random(time));
        totals.lostReaders += 1;
      }
      await Promise.race([sleep(time), client.exited]);
      if (random(4) === 0) {
        await kill(service.process, 'SIGKILL');
        totals.serviceKills += 1;
        await sleep(random(200));
        service = await startService(work, Number(port));
      }
      if (client.process.exitCode === null) {
        if (random(8) === 0) closeTerminal(client);
        else {
          client.process.kill('SIGKILL');
          totals.kills += 1;
        }
      }
    }
    const { code, signal, told } = await client.exited;
    if (signal === 'SIGKILL') {
      if (random(4) === 0) loseSomething(join(work, 'state'));
      continue;
    }
    // By SIGHUP itself where it came before anybody listened for it: nothing was begun yet.
    if (signal === 'SIGHUP' || code === 143) continue;
    if (code === 0) break;
    // Whoever has left did not read why.
    const mayBeBehind = /\[CHECKPOINT_(LOST|BEHIND|DAMAGED)\]/.test(told) || client.process.stderr.destroyed;
    if (code === 2 && mayBeBehind) {
      await recoverCheckpoint(config);
      continue;
    }
    // 5 is passing trouble, which a killed service is; whatever else ends a run is a fault.
    if (code !== 5) throw new Error(`a start ended with ${code}: ${told}`);
  }
  await kill(service.process, 'SIGTERM');
  prove(work, expected);
  rmSync(work, { recursive: true, force: true });
}

/** What the system does when a terminal is closed: the signal, and every write fails from then on. */
function closeTerminal({ process: child }) {
  child.stderr.destroy();
  child.kill('SIGHUP');
  totals.hangUps += 1;
}

/** What a person or a crash may take from a checkpoint that nobody has open. */
function loseSomething(state) {
  const database = join(state, 'checkpoint.db');
  const log = `${database}-wal`;
  if (!existsSync(database) || !existsSync(log)) return;
  totals.losses += 1;
  const bytes = readFileSync(log);
  const ways = [
    () => rmSync(log),
    () => rmSync(database),
    () => {
      for (const path of [database, log, `${database}-shm`]) rmSync(path, { force: true });
    },
    () => truncateSync(log, random(bytes.length + 1)),
    () => {
      if (bytes.length === 0) return;
      bytes[random(bytes.length)] ^= 1 << random(8);
      writeFileSync(log, bytes);
    },
  ];
  ways[random(ways.length)]();
}

/** Now and then recovering is killed, too. */
async function recoverCheckpoint(config) {
  totals.recovered += 1;
  const start = () => startClient(config, 'recover');
  if (random(3) === 0) {
    const doomed = start();
    await Promise.race([sleep(80 + random(300)), doomed.exited]);
    await kill(doomed.process, 'SIGKILL');
    totals.kills += 1;
  }
  const { code, told } = await start().exited;
  if (code !== 0) throw new Error(`recover ended with ${code}: ${told}`);
}

function prove(work, expected) {
  const out = join(work, 'out');
  if (!readFileSync(join(out, 'enriched.csv')).equals(expected)) {
    throw new Error(`the output differs from the unbroken one, see ${keep(work)}`);
  }
  const left = readdirSync(out).filter((name) => /partial|tmp$/.test(name));
  if (left.length > 0) throw new Error(`left behind: ${left.join(', ')}`);
  const manifest = JSON.parse(readFileSync(join(out, 'enriched.csv.manifest.json'), 'utf8'));
  const uploads = countFolios(work);
  const more = uploads - manifest.chunks.length;
  // Not every ambiguous upload reached the service, so there may be fewer extra folios than reports, never more.
  if (more > manifest.uploads.ambiguous) {
    throw new Error(
      `${more} uploads too many, and only ${manifest.uploads.ambiguous} reported, see ${keep(work)}`,
    );
  }
  totals.runs += 1;
  totals.uploads += uploads;
  totals.chunks += manifest.chunks.length;
  totals.ambiguous += more;
}

function countFolios(work) {
  const database = openSqlite(join(work, 'service/service.db'), { readonly: true });
  try {
    return database.prepare('SELECT count(*) AS folios FROM folios').get().folios;
  } finally {
    database.close();
  }
}

function keep(work) {
  const kept = mkdtempSync(join(tmpdir(), 'foliopipe-kill-kept-'));
  spawn('cp', ['-r', work, kept], { detached: true });
  return kept;
}

function writeConfig(work, source, baseUrl) {
  mkdirSync(work, { recursive: true });
  const file = join(work, 'foliopipe.yaml');
  const config = {
    pipeline: 'kill',
    source: { path: source },
    upload: { columns: { name: 'BusinessName', address: 'Address', state: 'State' } },
    service: { baseUrl, token: 'kill', requestsPerSecond: 1000 },
    chunks: { maxRecords: 100 },
    concurrency: { uploads: 3, folios: 5, downloads: 2 },
    poll: { first: '50ms', max: '200ms' },
    retry: { first: '50ms', max: '200ms', giveUpAfter: '5s' },
    failures: { tolerate: 1 },
    output: { path: join(work, 'out/enriched.csv') },
    stateDir: join(work, 'state'),
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

async function startService(work, port) {
  const process_ = spawn(
    process.execPath,
    [
      cli,
      'serve',
      '--port',
      `${port}`,
      '--token',
      'kill',
      '--predictor',
      'hash',
      '--records-per-second',
      '1200',
      '--segment-records',
      '40',
      '--data',
      join(work, 'service'),
    ],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  for await (const line of createInterface({ input: process_.stdout })) {
    const found = /listening on (\S+)/.exec(line);
    if (found) return { process: process_, url: found[1] };
  }
  throw new Error('the service ended before it listened');
}

function startClient(config, command = 'run') {
  const child = spawn(process.execPath, [cli, command, config, '--log-level', 'warn'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let told = '';
  child.stderr.on('data', (text) => {
    told += text;
  });
  return { process: child, exited: once(child, 'close').then(([code, signal]) => ({ code, signal, told })) };
}

function runClient(config) {
  return startClient(config).exited;
}

async function kill(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
