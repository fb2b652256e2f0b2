/**
 * The client that a good engineer writes in an afternoon with csv-parse, p-limit, fetch and csv-stringify:
 * every record is parsed once and written once, some chunks are in flight, rows leave in the source's order.
 * It keeps nothing: an interrupted run begins again, and pays again.
 * node bench/peers/client.js SOURCE OUTPUT BASE_URL TOKEN
 */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'csv-parse';
import { parse as parseSync } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import pLimit from 'p-limit';
import { CHUNK_RECORDS, COLUMNS, KEY } from '../job.js';
import { ADDED, collectResults, enrichedRow } from './enriched-rows.js';
import { readBatches } from './read-batches.js';

const UPLOADS = 4;
const IN_FLIGHT = 16;
const FIRST_POLL_MS = 50;
const LAST_POLL_MS = 5000;

const [source, output, baseUrl, token] = process.argv.slice(2);
const endpoint = `${baseUrl}/naics/naics/external/upload`;
const uploads = pLimit(UPLOADS);
const downloads = pLimit(UPLOADS);

const file = await open(output, 'w');
await file.write(stringify([[...(await readColumns()), ...ADDED]]));
const inFlight = [];
let records = 0;
let chunks = 0;
for await (const batch of readBatches(source, CHUNK_RECORDS)) {
  chunks += 1;
  const rows = enrichChunk(chunks, batch, records + 1);
  // The loop below reports an error when it awaits this. Until then the error must not end the process as unhandled.
  rows.catch(() => undefined);
  inFlight.push(rows);
  records += batch.length;
  if (inFlight.length >= IN_FLIGHT) await file.write(await inFlight.shift());
}
for (const rows of inFlight) await file.write(await rows);
await file.close();
console.log(JSON.stringify({ records, chunks }));

async function enrichChunk(number, batch, first) {
  const folio = await uploads(() => upload(number, batch, first));
  const report = await finished(folio);
  const results = new Map();
  const parts = report.segmentation.map(({ part }) => ({ part, status: 'SUCCESSFUL' }));
  if (report.progressInfo.failedRecords > 0) {
    parts.push({ part: report.failedInfo?.part ?? 0, status: 'FAILED' });
  }
  await Promise.all(
    parts.map(({ part, status }) =>
      downloads(async () => {
        const content = await download(folio, part, status);
        collectResults(results, status, parseSync(content, { from_line: 2 }));
      }),
    ),
  );
  return stringify(batch.map((record, at) => enrichedRow(record, results, first + at)));
}

async function upload(number, batch, first) {
  const rows = batch.map(([, name, address, , state], at) => [first + at, name, address, state]);
  const form = new FormData();
  form.append('token', token);
  form.append('description', `chunk ${number}`);
  const text = stringify([[KEY, ...Object.keys(COLUMNS)], ...rows]);
  form.append('file', new Blob([text], { type: 'text/csv' }), `chunk-${number}.csv`);
  const { folio } = await readReply(await fetch(endpoint, { method: 'POST', body: form }));
  return folio;
}

async function finished(folio) {
  for (let pause = FIRST_POLL_MS; ; pause = Math.min(pause * 2, LAST_POLL_MS)) {
    await sleep(pause);
    const query = new URLSearchParams({ folio, token });
    const report = await readReply(await fetch(`${endpoint}/file/info?${query}`));
    if (report.progressInfo.status === 'FINISHED') return report;
  }
}

async function download(folio, part, fileStatus) {
  const query = new URLSearchParams({ folio, part, fileStatus, token });
  const { content } = await readReply(await fetch(`${endpoint}/file/download?${query}`));
  return Buffer.from(content, 'base64');
}

async function readReply(reply) {
  if (!reply.ok) throw new Error(`${reply.status}: ${await reply.text()}`);
  const { response } = await reply.json();
  return response;
}

async function readColumns() {
  for await (const columns of createReadStream(source).pipe(parse({ bom: true, to: 1 }))) return columns;
}
