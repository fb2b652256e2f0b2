/** The port to one kind of database: a transaction in it, and the parts in which its SQL differs from that of others. */
import type { AtFailpoint } from '../failpoints.js';
import type { LoadFile } from './load-target.js';

/** A statement with its values, which it names `$1`, `$2` and so on. */
export interface Statement {
  readonly text: string;
  readonly values?: readonly (string | number | null)[];
}

/** A table's name, as the catalog has it. */
export interface TableName {
  /** The name of a DuckDB file within DuckDB: without it, a schema of the same name is ambiguous. */
  readonly database?: string;
  readonly schema: string;
  readonly name: string;
}

export interface TableColumn {
  readonly name: string;
  /** Without length or precision, if the database checks these itself. */
  readonly type: string;
  /** Whether a text can be stored without a cast. */
  readonly isText: boolean;
  /**
   * When the database treats two values as equal. `text`: only if their texts are equal. `loose`: also if the texts differ,
   * such as in capital letters. `type`: as the type compares them, such as the texts 1 and 01 of the integer 1.
   */
  readonly equality: 'text' | 'type' | 'loose';
  /** Whether every row must have a value, and it has no default. */
  readonly isRequired: boolean;
  /** Whether a row may be without a value. */
  readonly mayBeNull: boolean;
  /** Whether only the database can give its values. */
  readonly isGenerated: boolean;
}

export interface FoundTable {
  readonly columns: readonly TableColumn[];
  /** Whether the role may add columns. */
  readonly isOwner: boolean;
  /**
   * Whether the table stores each written row and removes each deleted one: it has no policy, rule or trigger. Only then
   * can rows be copied into it without a staging table, and without counting them afterwards.
   */
  readonly isPlain: boolean;
  /** Whether the table itself gives a copied row its run, in mode `append`. */
  readonly fillsRun: boolean;
  /** The columns of each unique index, sorted. */
  readonly uniqueKeys: readonly (readonly string[])[];
}

/** The SQL of a database where it differs from that of others. Names in these texts need no more quotes. */
export interface SqlDialect {
  /** The name of the staging table in statements. */
  readonly staging: string;
  /** Creates the staging table, which does not outlive the load. @param columns such as `c0 text`. */
  createStaging(columns: string): string;
  /** The default of the column of the run, for copied rows; null if the statement that copies them gives the run. */
  readonly runDefault: string | null;
  /** Whether an index finds the rows of a run. */
  readonly hasRunIndex: boolean;
  /** Names that no column can have. */
  readonly systemColumns: ReadonlySet<string>;
}

/** A column of the file, and the column that takes it. */
interface CopiedColumn {
  readonly name: string;
  /** The type to which its text is cast; null if it is stored as it is. */
  readonly cast: string | null;
}

/** The table that takes the rows of a file: columns in the order of the file. */
export interface CopyTarget {
  /** Its name in SQL. */
  readonly table: string;
  readonly columns: readonly CopiedColumn[];
  /** The run that each row gets, in mode `append`; null without the column of the run. */
  readonly run: string | null;
}

/** One transaction. It is undone unless `commit` is called, also when this process is killed. */
export interface Transaction {
  readonly dialect: SqlDialect;
  /** @returns the rows, and how many the statement has written. */
  query<Row = Record<string, unknown>>(
    statement: Statement | string,
  ): Promise<{ readonly rows: readonly Row[]; readonly count: number }>;
  /**
   * Reads `load.table` as SQL reads a name, and finds its schema.
   * @throws ConfigError `LOAD_TABLE_NAME`, `LOAD_SCHEMA_MISSING`.
   */
  tableName(table: string): Promise<TableName>;
  /**
   * @returns undefined if there is no such table.
   * @throws ConfigError `LOAD_NOT_A_TABLE` for a view and the like.
   */
  readTable(name: TableName): Promise<FoundTable | undefined>;
  /** Makes every other transaction that locks the same table wait until this one ends. */
  lock(name: TableName): Promise<void>;
  /**
   * Copies the rows of a file into a table.
   * @returns how many rows the database has read.
   * @throws ConfigError `OUTPUT_CHANGED` when the bytes are not those that were published.
   */
  copy(into: CopyTarget, file: LoadFile, at: AtFailpoint): Promise<number>;
  /** Whether a statement has failed because two of its rows have the same key in the table. */
  isDoubleKey(error: unknown): boolean;
  commit(): Promise<void>;
}
