/** The statements that load a publication, as a script for a database's own client. Runs nothing. */
import { fitTable } from '../postgres/fit-table.js';
import { createLoadsText } from '../postgres/loads-table.js';
import { checkNames, quoteText, RUN_COLUMN } from '../postgres/names.js';
import { copyIntoStaging, createStaging, createTable, writeStatements } from '../postgres/statements.js';
import { dialects, type PrintedFile, type PrintedLoad } from './dialects.js';
import { warehouseScript } from './warehouse-script.js';

export const printDialects = ['postgres', 'snowflake', 'bigquery', 'redshift'] as const;
export type PrintDialect = (typeof printDialects)[number];

/** @throws ConfigError `LOAD_NAMES` for names that Postgres could not hold apart; no other database is stricter. */
export function printLoad(load: PrintedLoad, dialect: PrintDialect): string {
  checkNames(load.table);
  const { table, publication, run, file } = load;
  const head = [
    `-- Publication ${publication} of pipeline ${table.pipeline} (run ${run}, ${file.records} rows) into ${oneLine(table.table)}, mode ${table.mode}.`,
    '-- The same script again changes nothing. Never run an older one after a newer one.',
  ];
  const script = dialect === 'postgres' ? postgresScript(load) : warehouseScript(load, dialects[dialect]);
  return `${[...head, ...script].join('\n')}\n`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

/** What `load.into` does, for psql. */
function postgresScript({ table: load, publication, run, sha256, file }: PrintedLoad): string[] {
  const { columns } = fitTable({ ...load, onSchema: 'add' }, undefined, undefined);
  const { table, mode, onRemoved, pipeline } = load;
  const [name, ...schema] = table.split('.').reverse();
  const loads = [...schema.reverse(), 'foliopipe_loads'].join('.');
  const plan = { table, mode, columns, isDelta: false, deletesGone: onRemoved === 'delete', run };
  const { deletes, write } = writeStatements(plan);
  const values = [name!, pipeline, publication, run, sha256, mode, onRemoved];
  const names = JSON.stringify([...columns.map((column) => column.name)]);
  const key = columns.filter(({ role }) => role === 'key').map((column) => `"${column.name}"`);
  return [
    '-- For psql -v ON_ERROR_STOP=1.',
    '',
    '-- Where the table is missing:',
    ...createTable(table, mode, columns).flatMap((text) => asComment(`${text};`)),
    ...(mode === 'merge'
      ? [
          '-- Where it has no unique index over the key:',
          `-- create unique index on ${table} (${key.join(', ')});`,
        ]
      : []),
    ...(mode === 'append'
      ? [`-- Where it has no ${RUN_COLUMN}:`, `-- alter table ${table} add column ${RUN_COLUMN} text;`]
      : []),
    '',
    `${createLoadsText(loads)};`,
    'begin;',
    `${createStaging(plan)};`,
    `\\${copyIntoStaging.replace('from stdin', () => `from ${psqlSource(file)}`)}`,
    `do $$ begin
  if (select count(*) from pg_temp.foliopipe_staging) <> ${file.records} then
    raise exception 'not all rows of the output have arrived';
  end if;
end $$;`,
    ...[...deletes, write].map(({ text }) => `${text.replaceAll(/\$1(?:::text)?/g, () => quoteText(run))};`),
    `insert into ${loads} (target, pipeline, publication, run, sha256, mode, on_removed, columns, records)
values (${values.map((value) => (typeof value === 'number' ? value : quoteText(value))).join(', ')}, ${quoteText(names)}, ${file.records})
on conflict do nothing;`,
    'commit;',
  ];
}

/** Where psql reads the file: it decompresses nothing by itself. */
function psqlSource({ path, format }: PrintedFile): string {
  const command = { csv: null, 'csv.gz': 'gzip -dc', 'csv.zst': 'zstd -dc', parquet: null }[format];
  if (command === null) return quoteText(path);
  return `program ${quoteText(`${command} '${path.replaceAll("'", `'\\''`)}'`)}`;
}

function asComment(text: string): string[] {
  return text.split('\n').map((line) => `-- ${line}`);
}
