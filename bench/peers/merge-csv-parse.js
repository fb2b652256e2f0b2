/**
 * Merging by hand with csv-parse and csv-stringify: chunk after chunk the results go into a Map, the records of
 * the source are looked up in it, and the rows are written in the source's order.
 * node bench/peers/merge-csv-parse.js SOURCE PARTS_FOLDER OUTPUT
 */
import { createReadStream, readdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse';
import { stringify } from 'csv-stringify/sync';
import { CHUNK_RECORDS } from '../job.js';
import { timed } from '../timed.js';
import { ADDED, collectResults, enrichedRow } from './enriched-rows.js';
import { readBatches } from './read-batches.js';

const [source, folder, output] = process.argv.slice(2);
await timed(async () => {
  const chunks = partsByChunk();
  const file = await open(output, 'w');
  await file.write(stringify([[...(await readColumns()), ...ADDED]]));
  let records = 0;
  let chunk = 0;
  for await (const batch of readBatches(source, CHUNK_RECORDS)) {
    chunk += 1;
    const results = new Map();
    for (const { path, status } of chunks.get(chunk) ?? []) {
      for await (const rows of readBatches(path, CHUNK_RECORDS)) collectResults(results, status, rows);
    }
    const first = records + 1;
    await file.write(stringify(batch.map((record, at) => enrichedRow(record, results, first + at))));
    records += batch.length;
  }
  await file.close();
  return { records };
});

/** `part-000001-successful-0-` with digits of its hash, by the chunk's number. */
function partsByChunk() {
  const found = new Map();
  for (const name of readdirSync(folder).sort()) {
    const [, number, status] = /^part-(\d+)-(successful|failed)-\d+-/.exec(name) ?? [];
    if (number === undefined) continue;
    const parts = found.get(Number(number)) ?? [];
    found.set(Number(number), [...parts, { path: join(folder, name), status: status.toUpperCase() }]);
  }
  return found;
}

async function readColumns() {
  for await (const columns of createReadStream(source).pipe(parse({ bom: true, to: 1 }))) return columns;
}
