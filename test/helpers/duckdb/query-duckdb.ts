/** DuckDB beside a test: asks a file, and finds the processes of DuckDB. */
import { execFileSync } from 'node:child_process';
import { DuckDBInstance } from '@duckdb/node-api';

/** Asks a file in this process, and closes it. @returns the rows; wide numbers and times are texts. */
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

/** The DuckDB processes that this process has started. */
export function duckdbProcesses(): number[] {
  const listed = execFileSync('ps', ['-eo', 'pid,ppid,args'], { encoding: 'utf8' }).split('\n').slice(1);
  return listed
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)/.exec(line) ?? [])
    .filter(([, , of, args]) => Number(of) === process.pid && args?.includes('duckdb-child'))
    .map(([, pid]) => Number(pid));
}
