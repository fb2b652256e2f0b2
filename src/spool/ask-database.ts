/** The source as the answer of a database: its columns, and its rows as CSV. */
import type { DatabaseAddress } from '../config/sections/load-section.js';
import type { Spool } from './spool-folder.js';

export interface DatabaseQuery {
  readonly address: DatabaseAddress;
  /** One statement without a semicolon at its end. */
  readonly sql: string;
  /** Longest time until a connection is open, in ms. */
  readonly connectMs: number;
  /** The folder in which DuckDB puts what does not fit into its memory. */
  readonly tempFolder: string;
  readonly signal: AbortSignal;
}

/**
 * A kind of database. Its errors: ConfigError `SOURCE_QUERY_INVALID`, `SOURCE_DATABASE_MISSING`,
 * `SOURCE_DATABASE_DAMAGED`; RefusedError `SOURCE_DATABASE_REFUSED`, `SOURCE_DATABASE_DENIED`; TroubleError
 * `SOURCE_DATABASE_UNREACHABLE`, `SOURCE_DATABASE_BUSY`, `DUCKDB_NO_ROOM`; the signal's reason.
 */
export interface AskDatabase {
  /** The names of the columns. Does not run the query. */
  columns(query: DatabaseQuery): Promise<readonly string[]>;
  /**
   * Runs the query, and copies its header and rows as CSV with commas, quotes and line feeds: NULL is an empty field, an
   * empty text a quoted one, and no record is an empty line.
   * @returns the path of the copy.
   */
  copy(query: DatabaseQuery, spool: Spool): Promise<string>;
}
