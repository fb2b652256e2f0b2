/**
 * A whole job with objects in and objects out, against the service at BASE_URL; with OUTPUT, also writes the rows there.
 * node bench/ours/records-job.js WORK BASE_URL RECORDS [OUTPUT]
 */
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { enrichedBytes, enrichedRecords, parseConfig, withRun } from '../../dist/bundle/index.js';
import { jobConfig } from '../job.js';
import { timed } from '../timed.js';

const [work, baseUrl, count, output] = process.argv.slice(2);
const { source: _, ...rest } = jobConfig({ work, baseUrl });
const config = parseConfig(rest, work);

await timed(() =>
  withRun(config, { records: businesses(Number(count)) }, async (run) => {
    let records = 0;
    for await (const row of enrichedRecords(run)) if (row.prediction_status !== '') records += 1;
    await run.confirm();
    return { records };
  }),
);
if (output !== undefined) {
  await withRun(config, { existing: true }, (run) =>
    pipeline(Readable.from(enrichedBytes(run)), createWriteStream(output)),
  );
}

async function* businesses(records) {
  for (let i = 1; i <= records; i += 1) {
    yield {
      Account: i,
      BusinessName: i % 16 === 0 ? `Harbor ${i % 977} Bakery, "Old Town"` : `Harbor ${i % 977} Bakery ${i}`,
      Address: `${i % 9973} Main Street`,
      City: 'Springfield',
      State: 'IL',
      Zip: `${60000 + (i % 999)}`,
      Note: i % 3 === 0 ? null : 'seen in spring',
    };
  }
}
