/** DuckDB, all columns as text: nothing is guessed, and nothing is converted. */
import { DuckDBInstance } from '@duckdb/node-api';
import { timed } from '../timed.js';

/**
 * Runs one statement that gives a number of records, and prints the number with the time that it took.
 * @param afterwards more work, which is timed too.
 */
export function runDuckDb(sql, { afterwards, threads } = {}) {
  return timed(async () => {
    const records = await answer(sql, threads);
    afterwards?.();
    return { records };
  });
}

/** The number that a statement gives. */
export async function answer(sql, threads = '1') {
  const instance = await DuckDBInstance.create(':memory:', { threads });
  const connection = await instance.connect();
  const reader = await connection.runAndReadAll(sql);
  const value = Number(reader.getRows()[0][0]);
  connection.closeSync();
  instance.closeSync();
  return value;
}

/** A source as a table expression. */
export function csv(path) {
  return `read_csv(${text(path)}, header = true, delim = ',', quote = '"', escape = '"', all_varchar = true)`;
}

export function text(value) {
  return `'${value.replaceAll("'", "''")}'`;
}
