/** Awkward rows as a CSV, written as Parquet, read back and compared cell by cell with what csv-parse reads. */
import { createReadStream, createWriteStream, writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { parse } from 'csv-parse';

export const columns = ['number', 'zip', 'name', 'note', 'prediction_status', 'prediction_confidence'];

/** Cells as a CSV has them: each kind comes again and again, next to each other kind. */
const NAMES = ['Plain', '"Best, of ""all"""', '"two\nlines"', '"two\r\nlines"', '"lone\rreturn"', '', '""'];
const NOTES = [
  '\\.',
  '\\N',
  'NULL',
  ' blanks ',
  '007',
  'Müller & Søn 株式会社',
  '',
  'x'.repeat(300),
  "it's",
  '1e5',
];
const PIECE_ROWS = 10_000;

function* pieces(rows) {
  yield `${columns.join(',')}\n`;
  for (let first = 1; first <= rows; first += PIECE_ROWS) {
    let piece = '';
    for (let at = first; at < Math.min(first + PIECE_ROWS, rows + 1); at += 1) {
      const zip = String(at % 100_000).padStart(5, '0');
      piece += `${at},${zip},${NAMES[at % NAMES.length]},${NOTES[at % NOTES.length]},SUCCESSFUL,0.${at % 997}\n`;
    }
    yield piece;
  }
}

/**
 * @param writeParquet as src/duckdb/write-parquet.ts exports it.
 * @returns the number of rows that are the same.
 * @throws for the first cell that differs, and for missing or additional rows.
 */
export async function proveRows(folder, rows, writeParquet) {
  const csv = `${folder}/rows.csv`;
  const parquet = `${folder}/rows.parquet`;
  await pipeline(Readable.from(pieces(rows)), createWriteStream(csv));
  writeFileSync(parquet, '', { mode: 0o600 });
  const { signal } = new AbortController();
  const tempFolder = `${folder}/temp`;
  await writeParquet({ csv, parquet, columns, types: {}, records: rows, tempFolder, signal });
  return compareRows(csv, parquet);
}

async function compareRows(csv, parquet) {
  const expected = createReadStream(csv)
    .pipe(parse({ from: 2 }))
    [Symbol.asyncIterator]();
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const result = await connection.stream(`SELECT * FROM read_parquet('${parquet}')`);
  let compared = 0;
  for (;;) {
    const chunk = await result.fetchChunk();
    if (chunk === null || chunk.rowCount === 0) break;
    for (const found of chunk.getRows()) {
      const { value: cells } = await expected.next();
      const wrong = found.findIndex((cell, at) => (cell ?? '') !== cells?.[at]);
      if (wrong !== -1 || found.length !== columns.length) {
        throw new Error(
          `row ${compared + 1}, ${columns[wrong]}: ${found[wrong]} in place of ${cells?.[wrong]}`,
        );
      }
      compared += 1;
    }
  }
  if (!(await expected.next()).done) throw new Error(`the Parquet file ends after row ${compared}`);
  connection.closeSync();
  instance.closeSync();
  return compared;
}
