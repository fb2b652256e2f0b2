/**
 * Reads the table of a load from the catalog of DuckDB. DuckDB ignores the case of the ASCII letters of a name, so these
 * are small here.
 */
import type { DuckdbSession } from '../../duckdb/open-duckdb.js';
import { quoteText } from '../../sql-text.js';
import type { FoundTable, TableName } from '../database.js';
import { foldName, notTableError, parseTableName, schemaMissingError } from '../names.js';

type Rows = DuckdbSession['rows'];

/** @throws ConfigError `LOAD_TABLE_NAME`, `LOAD_SCHEMA_MISSING`. */
export async function readTableName(rows: Rows, table: string): Promise<TableName> {
  const { schema, name } = parseTableName(table);
  if (schema !== null) {
    const folded = foldName(schema);
    const [found] = await rows<{ database: string }>(
      `select database_name as database from duckdb_schemas()
        where database_name = current_database() and ${isNamed('schema_name', folded)}`,
    );
    if (found === undefined) throw schemaMissingError(table, schema);
    return { ...found, schema: folded, name: foldName(name) };
  }
  const [found] = await rows<{ database: string; schema: string }>(
    'select current_database() as database, current_schema() as schema',
  );
  return { database: found!.database, schema: foldName(found!.schema), name: foldName(name) };
}

/** DuckDB's own `lower` would fold other letters too, such as Ä, which tell two names apart. */
function isNamed(column: string, name: string): string {
  return `translate(${column}, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz') = ${quoteText(name)}`;
}

/**
 * @returns undefined if there is no such table.
 * @throws ConfigError `LOAD_NOT_A_TABLE` for a view.
 */
export async function readTable(rows: Rows, { schema, name }: TableName): Promise<FoundTable | undefined> {
  const isTable = `database_name = current_database() and ${isNamed('schema_name', schema)} and ${isNamed('table_name', name)}`;
  const [found] = await rows<{ kind: string }>(
    `select table_type as kind from information_schema.tables
      where table_catalog = current_database() and ${isNamed('table_schema', schema)} and ${isNamed('table_name', name)}`,
  );
  if (found === undefined) return undefined;
  if (found.kind !== 'BASE TABLE') throw notTableError({ schema, name });
  const columns = await rows<{ name: string; type: string; nullable: boolean; value: string | null }>(
    `select column_name as name, data_type as type, is_nullable as nullable, column_default as value
       from duckdb_columns() where ${isTable} order by column_index`,
  );
  const [created] = await rows<{ sql: string }>(`select sql from duckdb_tables() where ${isTable}`);
  const collated = collatedColumns(created!.sql);
  const constraints = await rows<{ columns: readonly string[] }>(
    `select constraint_column_names as columns from duckdb_constraints()
      where ${isTable} and constraint_type in ('PRIMARY KEY', 'UNIQUE')`,
  );
  const indexes = await rows<{ expressions: string }>(
    `select expressions from duckdb_indexes() where ${isTable} and is_unique`,
  );
  return {
    isOwner: true,
    isPlain: true,
    fillsRun: true,
    columns: columns.map((column) => ({
      name: foldName(column.name),
      type: column.type,
      isText: column.type === 'VARCHAR',
      equality: collated.has(foldName(column.name)) ? 'loose' : column.type === 'VARCHAR' ? 'text' : 'type',
      mayBeNull: column.nullable,
      isRequired: !column.nullable && column.value === null,
      // The catalog does not show generated columns. `tryLoad` finds them, because its statements fail.
      isGenerated: false,
    })),
    uniqueKeys: [
      ...constraints.map((one) => one.columns),
      ...indexes.map((one) => columnsOf(one.expressions)),
    ].map((key) => key.map(foldName).sort()),
  };
}

/** Matches texts, and names with the collation that may follow. */
const COLLATED = /'(?:[^']|'')*'|("(?:[^"]|"")*"|[^\s(),"']+)( VARCHAR COLLATE )?/g;

/** The columns with a collation, which only the CREATE TABLE statement in the catalog shows. */
function collatedColumns(sql: string): ReadonlySet<string> {
  const names = [...sql.matchAll(COLLATED)].filter(([, , collate]) => collate !== undefined);
  return new Set(names.map(([, name]) => foldName(unquoted(name!, '"'))));
}

/** The columns of an index, from a text such as `[id, '"a b"']`. An expression stays a text that names no column. */
function columnsOf(expressions: string): string[] {
  const parts = expressions.replace(/^\[|\]$/g, '').match(/'(?:[^']|'')*'|"(?:[^"]|"")*"|[^,]+/g) ?? [];
  return parts.map((part) => unquoted(unquoted(part.trim(), "'"), '"'));
}

function unquoted(text: string, quote: string): string {
  return text.startsWith(quote) ? text.slice(1, -1).replaceAll(quote + quote, quote) : text;
}
