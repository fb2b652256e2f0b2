/**
 * Counting a file's records by DuckDB.
 * node bench/peers/count-duckdb.js SOURCE
 */
import { csv, runDuckDb } from './duckdb.js';

await runDuckDb(`SELECT count(*) FROM ${csv(process.argv[2])}`);
