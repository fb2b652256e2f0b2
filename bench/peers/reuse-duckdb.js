/**
 * Reuse of answers by DuckDB: a Parquet file of the known answers, joined with the source.
 * node bench/peers/reuse-duckdb.js fill|look|hits FOLDER SOURCE [HITS]
 * `look` writes for each record of the source its number and its answer, if one is known. `hits` writes those as CSV.
 */
import { createWriteStream, fsyncSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ANSWER_COLUMNS, answerOf, SENT_COLUMNS } from '../bought-answers.js';
import { answer, csv, runDuckDb, text } from './duckdb.js';

const [way, folder, source, hits] = process.argv.slice(2);
const known = join(folder, 'known.parquet');
const found = join(folder, 'found.parquet');
const sent = SENT_COLUMNS.join(', ');
const answers = ANSWER_COLUMNS.join(', ');
if (way === 'fill') await fill();
else if (way === 'look') await look();
else
  await answer(`COPY (SELECT number, ${answers} FROM ${text(found)} WHERE code IS NOT NULL ORDER BY number)
  TO ${text(hits)} (FORMAT csv, HEADER false)`);

async function fill() {
  mkdirSync(folder, { recursive: true });
  const records = await answer(`SELECT count(*) FROM ${csv(source)}`);
  const made = join(folder, 'answers.csv');
  await pipeline(Readable.from(answerLines(records)), createWriteStream(made));
  await runDuckDb(`COPY (SELECT ${sent}, ${answers} FROM ${csv(source)} POSITIONAL JOIN ${csv(made)})
    TO ${text(known)} (FORMAT parquet)`);
  rmSync(made);
}

function* answerLines(records) {
  let lines = `${answers}\n`;
  for (let record = 1; record <= records; record += 1) {
    lines += `${answerOf(record)}\n`;
    if (record % 1000 > 0) continue;
    yield lines;
    lines = '';
  }
  yield lines;
}

async function look() {
  await runDuckDb(
    `COPY (
      SELECT number, ${answers}
      FROM (SELECT row_number() OVER () AS number, ${sent} FROM ${csv(source)})
      LEFT JOIN ${text(known)} USING (${sent})
    ) TO ${text(found)} (FORMAT parquet)`,
    { afterwards: () => fsyncSync(openSync(found, 'r')) },
  );
}
