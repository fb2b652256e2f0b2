/**
 * Chunking by DuckDB: COPY of the number and three columns of each record. Into one file: it has no way to
 * begin a new one after a number of records.
 * node bench/peers/chunk-duckdb.js SOURCE OUTPUT
 */
import { COLUMNS, KEY } from '../job.js';
import { csv, runDuckDb, text } from './duckdb.js';

const [source, output] = process.argv.slice(2);
const columns = Object.entries(COLUMNS).map(([name, column]) => `${column} AS ${name}`);
await runDuckDb(
  `COPY (SELECT row_number() OVER () AS ${KEY}, ${columns.join(', ')} FROM ${csv(source)})
   TO ${text(output)} (FORMAT csv, HEADER)`,
);
