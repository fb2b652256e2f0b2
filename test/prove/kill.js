/**
 * Kills the client at random moments, and the service now and then, until each run ends. Now and then the client's
 * reader leaves or its terminal is closed instead, or the checkpoint loses its database, its log or a part of that, and
 * is recovered. Then proves that the output is that of an unbroken run, byte for byte, and that no upload went
 * unreported. With several nights, the source changes from night to night, and answers are reused.
 * npm run prove:kill -- [--kills 500] [--seed 1] [--records 1500] [--nights 1] [--new-one-in 5]
 */
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDice } from '../../bench/dice.js';
import { readOptions } from '../../bench/read-options.js';
import { acceptedBy, placeSource, writeConfig, writeSources } from './kill/job.js';
import { kill, startClient, startService } from './kill/processes.js';

const { values } = readOptions(
  'npm run prove:kill -- [--kills N] [--seed N] [--records N] [--nights N] [--new-one-in N]',
  {
    kills: { type: 'count', default: '500' },
    seed: { type: 'count', least: 0, default: '1' },
    records: { type: 'count', default: '1500' },
    nights: { type: 'count', default: '1' },
    'new-one-in': { type: 'count', default: '5' },
  },
);
const { kills: wanted, nights } = values;
const random = createDice(values.seed);
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
  const sources = writeSources(folder, {
    records: values.records,
    seed: values.seed,
    nights,
    newOneIn: values['new-one-in'],
  });
  const unbroken = await unbrokenNights(sources);
  while (totals.kills < wanted) await brokenNights(unbroken, join(folder, `job-${totals.runs + 1}`));
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

/** The nights without a kill: the source of each, its output, and how many records it sent. */
async function unbrokenNights(sources) {
  const work = join(folder, 'unbroken');
  const service = await startService(work, 0);
  const config = writeConfig(work, service.url, nights);
  const outputs = [];
  const sent = [];
  for (const source of sources) {
    placeSource(work, source);
    const { code, stderr } = await startClient(config).exited;
    if (code !== 0) throw new Error(`the unbroken run ended with ${code}: ${stderr}`);
    outputs.push(readFileSync(join(work, 'out/enriched.csv')));
    sent.push(sentRecords(manifestOf(work)));
  }
  await kill(service.process, 'SIGTERM');
  const { records } = acceptedBy(work);
  if (records !== sum(sent))
    throw new Error(`the unbroken runs sent ${sent}, and the service has ${records}`);
  return sources.map((source, at) => ({ source, output: outputs[at], sent: sent[at] }));
}

/** All nights of one job, broken at random, on a service of its own. */
async function brokenNights(unbroken, work) {
  const service = await startService(work, 0);
  const job = { work, config: writeConfig(work, service.url, nights), service };
  let before = { uploads: 0, records: 0 };
  for (const night of unbroken) {
    placeSource(work, night.source);
    await breakRun(job);
    await kill(job.service.process, 'SIGTERM');
    const after = acceptedBy(work);
    prove(work, night, { uploads: after.uploads - before.uploads, records: after.records - before.records });
    before = after;
    job.service = await startService(work, Number(new URL(job.service.url).port));
  }
  await kill(job.service.process, 'SIGTERM');
  rmSync(work, { recursive: true, force: true });
}

/** Starts one run again and again until it ends. */
async function breakRun(job) {
  const { work, config } = job;
  const { port } = new URL(job.service.url);
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
        await kill(job.service.process, 'SIGKILL');
        totals.serviceKills += 1;
        await sleep(random(200));
        job.service = await startService(work, Number(port));
      }
      if (client.process.exitCode === null) {
        if (random(8) === 0) closeTerminal(client);
        else {
          client.process.kill('SIGKILL');
          totals.kills += 1;
        }
      }
    }
    const { code, signal, stderr } = await client.exited;
    if (signal === 'SIGKILL') {
      if (random(4) === 0) loseSomething(join(work, 'state'));
      continue;
    }
    // SIGHUP itself ends a client that does not listen for it yet: nothing was begun.
    if (signal === 'SIGHUP' || code === 143) continue;
    if (code === 0) return;
    // A reader that has left did not read the reason.
    const mayBeBehind =
      /\[CHECKPOINT_(LOST|BEHIND|DAMAGED)\]/.test(stderr) || client.process.stderr.destroyed;
    if (code === 2 && mayBeBehind) {
      await recoverCheckpoint(config);
      continue;
    }
    // 5 is temporary trouble, such as a killed service. No other code may end a start.
    if (code !== 5) throw new Error(`a start ended with ${code}, see ${keep(work)}: ${stderr}`);
  }
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

/** Recovers the checkpoint. Now and then, `recover` is killed first. */
async function recoverCheckpoint(config) {
  totals.recovered += 1;
  const start = () => startClient(config, 'recover');
  if (random(3) === 0) {
    const doomed = start();
    await Promise.race([sleep(80 + random(300)), doomed.exited]);
    await kill(doomed.process, 'SIGKILL');
    totals.kills += 1;
  }
  const { code, stderr } = await start().exited;
  if (code !== 0) throw new Error(`recover ended with ${code}: ${stderr}`);
}

/** @param accepted uploads and records that the service has accepted tonight. */
function prove(work, { output, sent }, accepted) {
  const out = join(work, 'out');
  if (!readFileSync(join(out, 'enriched.csv')).equals(output)) {
    throw new Error(`the output differs from the unbroken one, see ${keep(work)}`);
  }
  const left = readdirSync(out).filter((name) => /partial|tmp$/.test(name));
  if (left.length > 0) throw new Error(`left behind: ${left.join(', ')}`);
  const manifest = manifestOf(work);
  if (sentRecords(manifest) !== sent) {
    throw new Error(`${sentRecords(manifest)} records sent, ${sent} without a kill, see ${keep(work)}`);
  }
  const { ambiguous } = manifest.uploads;
  const more = accepted.uploads - manifest.chunks.length;
  // Not every ambiguous upload reached the service, so there may be fewer extra folios than reports, never more.
  if (more > ambiguous || (more === 0 && accepted.records !== sent)) {
    throw new Error(
      `${more} uploads too many, and only ${ambiguous} reported; ${accepted.records} records for ${sent}, see ${keep(work)}`,
    );
  }
  totals.runs += 1;
  totals.uploads += accepted.uploads;
  totals.chunks += manifest.chunks.length;
  totals.ambiguous += more;
}

function manifestOf(work) {
  return JSON.parse(readFileSync(join(work, 'out/enriched.csv.manifest.json'), 'utf8'));
}

function sentRecords({ chunks }) {
  return sum(chunks.map(({ records }) => records));
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

function keep(work) {
  const kept = mkdtempSync(join(tmpdir(), 'foliopipe-kill-kept-'));
  cpSync(work, kept, { recursive: true });
  return kept;
}
