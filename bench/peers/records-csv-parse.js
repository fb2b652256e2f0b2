/**
 * The rows of an enriched CSV as objects by csv-parse.
 * node bench/peers/records-csv-parse.js FILE
 */
import { createReadStream } from 'node:fs';
import { parse } from 'csv-parse';
import { timed } from '../timed.js';

await timed(async () => {
  let records = 0;
  let characters = 0;
  for await (const row of createReadStream(process.argv[2]).pipe(parse({ columns: true, bom: true }))) {
    records += 1;
    characters += row.BusinessName.length + row.prediction_status.length;
  }
  return { records, characters };
});
