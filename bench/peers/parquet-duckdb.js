/** An output as Parquet, by DuckDB alone: node parquet-duckdb.js FILE PARQUET */
import { DuckDBInstance } from '@duckdb/node-api';
import { timed } from '../timed.js';
import { csv, text } from './duckdb.js';

const [file, parquet] = process.argv.slice(2);

await timed(async () => {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
  const connection = await instance.connect();
  await connection.run(
    `COPY (FROM ${csv(file)}) TO ${text(parquet)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 100000)`,
  );
  connection.closeSync();
  instance.closeSync();
  return {};
});
