/**
 * Three nights with reuse, with the real command against the local service in another process: a source, a changed one
 * (1 % changed, 5 % new, 5 % gone, another order, a column that is not sent), and the first one with another column.
 * Each output is compared with that of a run that reuses nothing, byte for byte, and each delta with a plain comparison
 * of the outputs; what is bought is counted at the service.
 * npm run prove:nights -- [--source FILE] [--records 20000] [--seed 1]
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'csv-parse/sync';
import { createDice } from '../../bench/dice.js';
import { readOptions } from '../../bench/read-options.js';
import { acceptedBy } from './kill/job.js';
import { kill, startClient, startService } from './kill/processes.js';

const { values } = readOptions('npm run prove:nights -- [--source FILE] [--records N] [--seed N]', {
  source: { type: 'string' },
  records: { type: 'count', default: '20000' },
  seed: { type: 'count', least: 0, default: '1' },
});
const random = createDice(values.seed);
const folder = mkdtempSync(join(tmpdir(), 'foliopipe-nights-'));
/** How many records were invented. */
let inventions = 0;
/** The sent columns of the source. */
const sent = ['BusinessName', 'Address', 'State'];
/** The column that is added to name a record. */
const ID = 'ProofId';
let ids = 0;

try {
  const { header, lines } = readLines(values.source ?? generate());
  const changed = changedLines(lines);
  const nights = [lines, noted(changed, 'N2-'), noted(lines, 'N3-')];
  const service = await startService(folder, 0, { speed: 0, segmentRecords: 10_000 });
  const known = new Set();
  let before = 0;
  const expected = [];
  let base = [];
  for (const [at, night] of nights.entries()) {
    expected.push(night.filter(({ key }) => !known.has(key)).length);
    for (const { key } of night) known.add(key);
    const text = `${header},${ID}\n${night.map(({ raw, id }) => `${raw},${id}\n`).join('')}`;
    const reusing = await runNight('reusing', text, service.url, {
      reuse: { maxAge: '90d' },
      source: { path: 'source.csv', key: ID },
      output: { path: 'out/enriched.csv', delta: true },
    });
    const bought = reusing.sent;
    if (bought !== expected[at]) throw new Error(`night ${at + 1} bought ${bought}, not ${expected[at]}`);
    before += bought;
    const plain = await runNight(`plain-${at + 1}`, text, service.url, {});
    if (!reusing.output.equals(plain.output))
      throw new Error(`night ${at + 1} differs from a run without reuse`);
    before += plain.sent;
    const rows = digests(reusing.output);
    const changes = plainDelta(base, rows);
    proveDelta(changes, readFileSync(join(folder, 'reusing/out/enriched.csv.delta.csv')));
    base = rows;
    console.log(
      `night ${at + 1}: ${night.length} records, ${bought} bought, equal to a run without reuse; the ${changes.length} rows of the delta are right`,
    );
  }
  await kill(service.process, 'SIGTERM');
  const { records } = acceptedBy(folder);
  if (records !== before) throw new Error(`the service has accepted ${records} records, not ${before}`);
  console.log(`the service has accepted ${records} records, as the runs say`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Runs a pipeline of its own on a source. */
async function runNight(pipeline, text, baseUrl, settings) {
  const work = join(folder, pipeline);
  mkdirSync(work, { recursive: true });
  writeFileSync(join(work, 'source.csv'), text);
  const config = join(work, 'foliopipe.yaml');
  writeFileSync(
    config,
    JSON.stringify({
      pipeline,
      source: { path: 'source.csv' },
      upload: { columns: { name: sent[0], address: sent[1], state: sent[2] } },
      service: { baseUrl, token: 'kill', requestsPerSecond: 1000 },
      poll: { first: '50ms', max: '200ms' },
      failures: { tolerate: '100%' },
      output: { path: 'out/enriched.csv' },
      stateDir: 'state',
      ...settings,
    }),
  );
  const { code, stderr } = await startClient(config).exited;
  if (code !== 0) throw new Error(`${pipeline} ended with ${code}: ${stderr}`);
  const { chunks } = JSON.parse(readFileSync(join(work, 'out/enriched.csv.manifest.json'), 'utf8'));
  const bought = chunks.reduce((total, { records }) => total + records, 0);
  return { output: readFileSync(join(work, 'out/enriched.csv')), sent: bought };
}

function generate() {
  const path = join(folder, 'made.csv');
  const script = fileURLToPath(new URL('../../bench/generate.js', import.meta.url));
  const counts = ['--records', `${values.records}`, '--seed', `${values.seed}`];
  execFileSync(process.execPath, [script, ...counts, '--out', path]);
  return path;
}

/** The records of a file with their raw text, and a key of what is sent. */
function readLines(path) {
  const rows = parse(readFileSync(path), { bom: true, raw: true });
  const [{ record: names, raw: header }, ...records] = rows;
  const at = sent.map((name) => names.indexOf(name));
  const lines = records.map(({ record, raw }) => ({
    raw: raw.replace(/\r?\n$/, ''),
    key: at.map((column) => record[column]).join('\u0000'),
    id: newId(),
  }));
  return { header: header.replace(/\r?\n$/, ''), lines };
}

/** One record in a hundred is changed, one in twenty is gone, as many are new, and the order is different. */
function changedLines(lines) {
  const kept = lines.filter(() => random(20) > 0);
  const next = kept.map((line) => (random(100) === 0 ? invented(line, 'Changed') : line));
  for (let added = 0; added < lines.length / 20; added++) {
    next.push(invented(lines[random(lines.length)], 'New'));
  }
  for (let at = next.length - 1; at > 0; at--) {
    const other = random(at + 1);
    [next[at], next[other]] = [next[other], next[at]];
  }
  return next;
}

/** A record with a name that no other record has. */
function invented({ raw, key, id }, what) {
  const name = key.split('\u0000')[0];
  const own = what === 'New' ? newId() : id;
  if (name === '') return { raw, key, id: own };
  inventions += 1;
  const mark = `${what} ${inventions} `;
  // A quoted field stays quoted.
  const at = raw.indexOf(name.includes('"') ? name.replaceAll('"', '""') : name);
  return { raw: `${raw.slice(0, at)}${mark}${raw.slice(at)}`, key: `${mark}${key}`, id: own };
}

/** The records; one in three has another value in the first column, which is not sent. */
function noted(lines, note) {
  return lines.map((line) => {
    if (random(3) > 0) return line;
    const { raw } = line;
    return { ...line, raw: raw.startsWith('"') ? `"${note}${raw.slice(1)}` : note + raw };
  });
}

function newId() {
  ids += 1;
  return `P${ids}`;
}

/** For each row of an output, in order: its id, and a hash of its values. */
function digests(output) {
  const at = parse(output.subarray(0, 4096), { to: 1, relax_quotes: true })[0].indexOf(ID);
  const rows = [];
  parse(output, {
    from: 2,
    on_record: (row) => {
      rows.push({ id: row[at], hash: hashOf(row) });
      return null;
    },
  });
  return rows;
}

function hashOf(row) {
  return createHash('sha1').update(JSON.stringify(row)).digest('base64');
}

/** The rows that a delta must have, as ids and hashes. */
function plainDelta(base, rows) {
  const old = new Map(base.map(({ id, hash }) => [id, hash]));
  const now = new Set(rows.map(({ id }) => id));
  const found = rows
    .filter(({ id, hash }) => old.get(id) !== hash)
    .map(({ id, hash }) => ({ id, change: old.has(id) ? 'changed' : 'added', hash }));
  const removed = base
    .filter(({ id }) => !now.has(id))
    .map(({ id }) => ({ id, change: 'removed', hash: '' }));
  return [...found, ...removed];
}

function proveDelta(wanted, delta) {
  let at = -1;
  let index = 0;
  parse(delta, {
    on_record: (row, { lines }) => {
      if (at < 0) {
        at = row.indexOf(ID);
        return null;
      }
      const change = row.at(-1);
      const values = row.slice(0, -1);
      const hasOnlyKey = values.every((value, field) => field === at || value === '');
      const hash = change === 'removed' ? (hasOnlyKey ? '' : 'more than the key') : hashOf(values);
      const { id, change: expectedChange, hash: expectedHash } = wanted[index] ?? {};
      if (row[at] !== id || change !== expectedChange || hash !== expectedHash)
        throw new Error(`line ${lines} of the delta is wrong: ${row.join()}, not ${expectedChange} ${id}`);
      index += 1;
      return null;
    },
  });
  if (index !== wanted.length) throw new Error(`the delta has ${index} rows, not ${wanted.length}`);
}
