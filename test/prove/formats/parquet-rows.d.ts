import type { ParquetTable } from '../../../src/duckdb/write-parquet.js';

export function proveRows(
  folder: string,
  rows: number,
  writeParquet: (table: ParquetTable) => Promise<void>,
): Promise<number>;
