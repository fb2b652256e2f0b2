/**
 * Chunking by csv-parse into csv-stringify: the number and three columns of each record, one file a chunk.
 * node bench/peers/chunk-csv-parse.js SOURCE FOLDER
 */
import { mkdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'csv-stringify/sync';
import { CHUNK_RECORDS, COLUMNS, KEY } from '../job.js';
import { timed } from '../timed.js';
import { readBatches } from './read-batches.js';

const [source, folder] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
await timed(async () => {
  let records = 0;
  let chunks = 0;
  for await (const batch of readBatches(source, CHUNK_RECORDS)) {
    const rows = [[KEY, ...Object.keys(COLUMNS)]];
    for (const [, name, address, , state] of batch) {
      records += 1;
      rows.push([records, name, address, state]);
    }
    chunks += 1;
    await writeFile(join(folder, `chunk-${String(chunks).padStart(6, '0')}.csv`), stringify(rows));
  }
  return { chunks, records };
});
