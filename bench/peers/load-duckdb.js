/** A plain load into a new table of texts of a DuckDB file, within the limits that ours has: load-duckdb.js DATABASE FILE TABLE */
import { readFileSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import { timed } from '../timed.js';
import { csv } from './duckdb.js';

const [database, file, table] = process.argv.slice(2);
const { columns } = JSON.parse(readFileSync(`${file}.manifest.json`, 'utf8'));

await timed(async () => {
  const instance = await DuckDBInstance.create(database, { threads: '2', memory_limit: '1GB' });
  const connection = await instance.connect();
  await connection.run(`create table ${table} (${columns.map((name) => `"${name}" text`)})`);
  await connection.run(`insert into ${table} from ${csv(file)}`);
  connection.closeSync();
  instance.closeSync();
});
