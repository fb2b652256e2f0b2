/** Reads from the catalog what the table is like that a pipeline loads into. */
import { ConfigError } from '../../errors.js';
import { showText } from '../../text.js';
import type { Transaction } from './connect.js';

/** A table's name, as the catalog has it. */
export interface TableName {
  readonly schema: string;
  readonly name: string;
}

export interface TableColumn {
  readonly name: string;
  /** Without length or precision. */
  readonly type: string;
  /** Whether a text can be stored as it is. */
  readonly isText: boolean;
  /** Whether every row must have a value, and it has no default. */
  readonly isRequired: boolean;
  /** Whether a row may be without a value. */
  readonly mayBeNull: boolean;
  /** Whether the database alone gives its values. */
  readonly isGenerated: boolean;
}

export interface FoundTable {
  readonly columns: readonly TableColumn[];
  /** Whether the role may add columns. */
  readonly isOwner: boolean;
  /** Whether policies decide on rows: then nothing can be copied into it. */
  readonly hasRowSecurity: boolean;
  /** The columns of each unique index, sorted. */
  readonly uniqueKeys: readonly (readonly string[])[];
}

/**
 * Reads `load.table` as SQL reads a name: small letters unless it is in quotes, and in the search path unless it names
 * its schema.
 * @throws ConfigError `LOAD_TABLE_NAME`.
 */
export async function readTableName(transaction: Transaction, table: string): Promise<TableName> {
  const parts = await partsOf(transaction, table);
  if (parts.length === 2) return { schema: parts[0]!, name: parts[1]! };
  const { rows } = await transaction.query<{ schema: string | null }>({
    text: `select coalesce(
             (select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
               where c.oid = to_regclass(quote_ident($1))),
             current_schema()) as schema`,
    values: [parts[0]],
  });
  const schema = rows[0]?.schema;
  if (schema == null)
    throw tableNameError(table, 'names no schema, and the role has none in its search path');
  return { schema, name: parts[0]! };
}

async function partsOf(transaction: Transaction, table: string): Promise<readonly string[]> {
  // A failed statement would end the transaction.
  if (
    !/^(?:"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_$]*)(?:\.(?:"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_$]*))?$/u.test(
      table,
    )
  ) {
    throw tableNameError(table, 'is no name of a table');
  }
  const { rows } = await transaction.query<{ parts: string[] }>({
    text: 'select parse_ident($1)::text[] as parts',
    values: [table],
  });
  return rows[0]!.parts;
}

function tableNameError(table: string, problem: string): ConfigError {
  return new ConfigError('LOAD_TABLE_NAME', `load.table: ${showText(table)} ${problem}`, {
    hint: 'write it as in SQL, such as analytics.businesses; other characters than letters, digits and _ need double quotes',
    facts: { table },
  });
}

/**
 * @returns undefined if there is no such table.
 * @throws ConfigError `LOAD_NOT_A_TABLE` for a view and the like.
 */
export async function readTable(
  transaction: Transaction,
  { schema, name }: TableName,
): Promise<FoundTable | undefined> {
  const { rows } = await transaction.query<{
    oid: string;
    kind: string;
    owner: boolean;
    secured: boolean;
  }>({
    text: `select c.oid::text as oid, c.relkind::text as kind, pg_has_role(c.relowner, 'usage') as owner,
                  c.relrowsecurity as secured
             from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = $1 and c.relname = $2`,
    values: [schema, name],
  });
  const [found] = rows;
  if (found === undefined) return undefined;
  if (found.kind !== 'r' && found.kind !== 'p') {
    throw new ConfigError('LOAD_NOT_A_TABLE', `${showText(`${schema}.${name}`, 130)} is not a table`, {
      hint: 'name a table in load.table; a view can be built on it',
    });
  }
  const columns = await transaction.query<
    Record<'name' | 'type' | 'category' | 'generated' | 'identity', string> &
      Record<'required' | 'hasDefault', boolean>
  >({
    text: `select a.attname as name, format_type(a.atttypid, null) as type, t.typcategory::text as category,
                  a.attnotnull or t.typnotnull as required, a.atthasdef as "hasDefault",
                  a.attgenerated::text as generated, a.attidentity::text as identity
             from pg_attribute a join pg_type t on t.oid = a.atttypid
            where a.attrelid = $1::oid and a.attnum > 0 and not a.attisdropped
            order by a.attnum`,
    values: [found.oid],
  });
  const keys = await transaction.query<{ columns: string[] }>({
    text: `select (select array_agg(a.attname::text order by a.attname::text) from pg_attribute a
                    where a.attrelid = i.indrelid
                      and a.attnum = any ((string_to_array(i.indkey::text, ' ')::int2[])[1:i.indnkeyatts])) as columns
             from pg_index i
            where i.indrelid = $1::oid and i.indisunique and i.indisvalid and i.indimmediate
              and i.indpred is null and i.indexprs is null`,
    values: [found.oid],
  });
  return {
    isOwner: found.owner,
    hasRowSecurity: found.secured,
    columns: columns.rows.map((column) => ({
      name: column.name,
      type: column.type,
      isText: column.category === 'S',
      mayBeNull: !column.required,
      isRequired: column.required && !column.hasDefault && column.identity === '',
      isGenerated: column.generated !== '' || column.identity === 'a',
    })),
    uniqueKeys: keys.rows.map((key) => [...key.columns].sort()),
  };
}
