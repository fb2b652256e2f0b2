/** One iteration over a whole job: runs it in this process, and proves that nothing was lost or changed. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { enrich, parseConfig } from '../../../dist/pipelines/index.js';
import { parseFaults } from '../../../dist/src/service/faults/read-faults.js';
import { openService } from '../../../dist/src/service/open-service.js';
import { addedColumns, foresee, skipped } from './job-case.js';

const TOKEN = 'fuzz';
const QUICK = {
  poll: { first: '2ms', max: '10ms', timeout: '1m' },
  retry: { first: '1ms', max: '10ms', giveUpAfter: '1m' },
  failures: { tolerate: 1 },
};

/** Writes the case's files, and the case itself so that it can be looked at, into the folder. */
export async function writeJobCase({ files, config, service }, folder) {
  await mkdir(join(folder, 'source'));
  for (const { name, bytes } of files) await writeFile(join(folder, 'source', name), bytes);
  await writeFile(join(folder, 'case.json'), JSON.stringify({ config, service }, null, 2));
}

/** @returns how many records the source has. */
export async function runJobIteration({ config, service, expected }, folder) {
  const { faults, ...limits } = service;
  const local = await openService({
    token: TOKEN,
    dataDir: join(folder, 'service'),
    predictor: 'hash',
    ...limits,
    ...(faults && { faults: parseFaults(faults) }),
  });
  try {
    const address = { baseUrl: local.baseUrl, token: TOKEN, requestsPerSecond: 100_000 };
    const summary = await enrich(
      parseConfig({ ...config, ...QUICK, service: address, stateDir: 'state' }, folder),
    );
    await prove(summary, { config, expected }, join(folder, 'out'));
  } finally {
    await local.close();
  }
  return expected.records.length;
}

async function prove(summary, { config, expected }, folder) {
  const numbered = expected.records.map((record, at) => ({ ...record, number: at + 1 }));
  const sent = numbered.filter(({ code }) => code === undefined);
  const rejected = numbered.filter(({ code }) => code !== undefined);
  const named = expected.columns.indexOf(expected.named);
  const answered = sent.map((record) => ({
    ...record,
    said: expected.isBlank(record) ? skipped : foresee(record.values[named]),
  }));
  const failed = answered.filter(({ said }) => said.status === 'FAILED').length;

  assert.equal(summary.exitCode, 0);
  assert.equal(summary.origins.skipped.records, answered.filter(({ said }) => said === skipped).length);
  assert.deepEqual(summary.counts, {
    read: numbered.length,
    successful: sent.length - failed,
    failed,
    unprocessed: 0,
    rejected: rejected.length,
  });
  const wanted = config.result.columns ?? (failed === sent.length ? [] : addedColumns);
  assert.deepEqual(summary.columns, wanted);

  const output = await readFile(join(folder, 'enriched.csv'));
  assert.equal(summary.output.records, sent.length);
  assert.equal(summary.output.sha256, createHash('sha256').update(output).digest('hex'));
  proveRows(output, { summary, config, expected, answered, wanted });
  if (expected.keepsBytes && config.output.columns === 'all') proveRaw(output, answered);

  const manifest = JSON.parse(await readFile(join(folder, 'enriched.csv.manifest.json'), 'utf8'));
  assert.deepEqual(manifest.counts, summary.counts);
  // A run that sends nothing has asked no local service.
  const marker = answered.every(({ said }) => said === skipped) ? '._SUCCESS' : '._REHEARSAL';
  const beside = ['', marker, '.manifest.json', ...(rejected.length > 0 ? ['.rejects.csv'] : [])];
  assert.deepEqual((await readdir(folder)).sort(), beside.map((end) => `enriched.csv${end}`).sort());
  if (rejected.length > 0) proveRejects(await readFile(join(folder, 'enriched.csv.rejects.csv')), rejected);
}

/** Every row by csv-parse, for which a CR ends a line too: the values of its record, and what the predictor says of it. */
function proveRows(output, { summary, config, expected, answered, wanted }) {
  const { columns: chosen, prefix, lineage } = config.output;
  const kept = chosen === 'all' ? expected.columns : chosen;
  const [header, ...rows] = parse(output, { record_delimiter: ['\r\n', '\n', '\r'] });
  const own = [
    'status',
    'error_code',
    'error',
    ...wanted,
    ...(lineage ? ['run', 'folio', 'part', 'record', 'answered_at'] : []),
  ];
  assert.deepEqual(header, [...kept, ...own.map((column) => prefix + column)]);
  assert.equal(rows.length, answered.length);
  for (const [at, { values, said, number }] of answered.entries()) {
    const row = rows[at];
    const prediction = wanted.map((column) => said.added?.[column] ?? '');
    const cells = chosen === 'all' ? values : kept.map((column) => values[expected.columns.indexOf(column)]);
    const known = [...cells, said.status, said.code, said.error, ...prediction];
    assert.deepEqual(row.slice(0, known.length), known, `record ${number}`);
    if (!lineage) continue;
    const [run, folio, part, record, answeredAt] = row.slice(known.length);
    if (said === skipped) {
      assert.deepEqual([run, folio, part, record, answeredAt], ['', '', '', '', '']);
      continue;
    }
    assert.deepEqual([run, record], [summary.run, String(number)]);
    assert.match(folio, /^[0-9a-f]{32}$/);
    assert.match(part, /^\d+$/);
  }
}

/** A comma source keeps its bytes, except that a field with a CR is quoted: each row begins with the bytes of its record. */
function proveRaw(output, answered) {
  let at =
    output.indexOf('\n', parse(output, { to: 1, info: true, record_delimiter: '\n' })[0].info.bytes - 1) + 1;
  for (const { text, number } of answered) {
    const start = Buffer.from(`${text.replace(QUOTED_OR_WITH_RETURN, quoted)},`);
    assert.ok(output.subarray(at, at + start.length).equals(start), `bytes of record ${number}`);
    // What follows has no line feed within quotes: the local service's titles and reasons have none.
    at = output.indexOf('\n', at + start.length) + 1;
  }
  assert.equal(at, output.length);
}

/** Fields of a comma source: quoted ones, and unquoted ones with a CR. */
const QUOTED_OR_WITH_RETURN = /"(?:[^"]|"")*"|[^,"]*\r[^,"]*/g;

function quoted(field) {
  return field.startsWith('"') ? field : `"${field}"`;
}

/** Read as Latin-1, so that bytes that are no text can be compared. */
function proveRejects(bytes, rejected) {
  const [, ...rows] = parse(bytes, { encoding: 'latin1', record_delimiter: '\n' });
  const found = rows.map(([path, record, , , code, , raw]) => ({
    file: path.split('/').at(-1),
    record,
    code,
    raw,
  }));
  const foreseen = rejected.map(({ file, number, code, raw }) => ({
    file: Buffer.from(file).toString('latin1'),
    record: String(number),
    code,
    raw: raw.toString('latin1'),
  }));
  assert.deepEqual(found, foreseen);
}
