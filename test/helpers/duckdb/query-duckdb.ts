/** Asks a DuckDB file in this process, and closes it. */
import { DuckDBInstance } from '@duckdb/node-api';

/** @returns the rows; wide numbers and times are texts. */
export async function queryDuckdb(file: string, sql: string): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(file);
  try {
    const connection = await instance.connect();
    try {
      return (await connection.runAndReadAll(sql)).getRowObjectsJson();
    } finally {
      connection.closeSync();
    }
  } finally {
    instance.closeSync();
  }
}
