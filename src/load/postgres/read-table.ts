/** Reads the table of a load from the catalog of Postgres. */
import type { Transaction as Connection } from '../../postgres/connect.js';
import type { FoundTable, TableName } from '../database.js';
import { notTableError, parseTableName, RUN_COLUMN, schemaMissingError, tableNameError } from '../names.js';
import { RUN_DEFAULT } from './dialect.js';

type Query = Connection['query'];

/**
 * Finds the table in the search path unless the name holds a schema.
 * @throws ConfigError `LOAD_TABLE_NAME`, `LOAD_SCHEMA_MISSING`.
 */
export async function readTableName(query: Query, table: string): Promise<TableName> {
  const { schema, name } = parseTableName(table);
  if (schema !== null) {
    const { rows } = await query({ text: 'select 1 from pg_namespace where nspname = $1', values: [schema] });
    if (rows.length === 0) throw schemaMissingError(table, schema);
    return { schema, name };
  }
  const { rows } = await query<{ schema: string | null }>({
    text: `select coalesce(
             (select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
               where c.oid = to_regclass(quote_ident($1))),
             current_schema()) as schema`,
    values: [name],
  });
  const found = rows[0]?.schema;
  if (found == null) throw tableNameError(table, 'names no schema, and the role has none in its search path');
  return { schema: found, name };
}

/**
 * @returns undefined if there is no such table.
 * @throws ConfigError `LOAD_NOT_A_TABLE` for a view and the like.
 */
export async function readTable(query: Query, { schema, name }: TableName): Promise<FoundTable | undefined> {
  const { rows } = await query<{
    oid: string;
    kind: string;
    owner: boolean;
    plain: boolean;
  }>({
    text: `select c.oid::text as oid, c.relkind::text as kind, pg_has_role(c.relowner, 'usage') as owner,
                  not exists (
                    select 1 from pg_class p
                     where (p.oid = c.oid or p.oid in (select relid from pg_partition_tree(c.oid)))
                       and (p.relrowsecurity
                         or exists (select 1 from pg_rewrite where ev_class = p.oid)
                         or exists (select 1 from pg_trigger where tgrelid = p.oid and not tgisinternal))) as plain
             from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = $1 and c.relname = $2`,
    values: [schema, name],
  });
  const [found] = rows;
  if (found === undefined) return undefined;
  if (found.kind !== 'r' && found.kind !== 'p') {
    throw notTableError({ schema, name });
  }
  const columns = await query<
    Record<'name' | 'type' | 'category' | 'generated' | 'identity', string> &
      Record<'required' | 'hasDefault' | 'isPlain' | 'isLoose', boolean> & { readonly value: string | null }
  >({
    text: `select a.attname as name, format_type(a.atttypid, -1) as type, t.typcategory::text as category,
                  a.attnotnull or t.typnotnull as required, a.atthasdef as "hasDefault",
                  a.attgenerated::text as generated, a.attidentity::text as identity,
                  t.typname in ('text', 'varchar') as "isPlain",
                  t.typname = 'citext' or exists (
                    select 1 from pg_collation l
                     where not l.collisdeterministic
                       and (l.oid = a.attcollation or exists (
                         select 1 from pg_index i, unnest(i.indkey::int2[], i.indcollation::oid[]) as u (attnum, collated)
                          where i.indrelid = a.attrelid and i.indisunique
                            and u.attnum = a.attnum and u.collated = l.oid))) as "isLoose",
                  pg_get_expr(d.adbin, d.adrelid) as value
             from pg_attribute a join pg_type t on t.oid = a.atttypid
             left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
            where a.attrelid = $1::oid and a.attnum > 0 and not a.attisdropped
            order by a.attnum`,
    values: [found.oid],
  });
  const keys = await query<{ columns: string[] }>({
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
    isPlain: found.plain,
    fillsRun: columns.rows.some(({ name: column, value }) => column === RUN_COLUMN && value === RUN_DEFAULT),
    columns: columns.rows.map((column) => ({
      name: column.name,
      type: column.type,
      isText: column.category === 'S',
      equality: column.isLoose ? 'loose' : column.isPlain ? 'text' : 'type',
      mayBeNull: !column.required,
      isRequired: column.required && !column.hasDefault && column.identity === '',
      isGenerated: column.generated !== '' || column.identity === 'a',
    })),
    uniqueKeys: keys.rows.map((key) => [...key.columns].sort()),
  };
}
