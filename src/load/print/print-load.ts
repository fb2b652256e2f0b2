/** The statements that load a publication, as a script for a database's own client. Runs nothing. */
import { isFolder, isS3 } from '../../config/sections/output-names.js';
import { quoteText as quoteDuckdb, quoteName } from '../../sql-text.js';
import { inShellQuotes, oneLine, presentTexts } from '../../text.js';
import type { CopyTarget, SqlDialect } from '../database.js';
import { duckdbDialect, inlined, insertText } from '../duckdb/dialect.js';
import { fitTable, keyColumns } from '../fit-table.js';
import { createLoadsText } from '../loads-table.js';
import { checkNames, foldName, LOADS_TABLE, namesIn, RUN_COLUMN } from '../names.js';
import { copyText, postgresDialect, quoteText as quotePostgres } from '../postgres/dialect.js';
import {
  addColumns,
  countStored,
  createStaging,
  createTable,
  findUnfitKey,
  stagingTarget,
  writeStatements,
} from '../statements.js';
import { allOf, dialects, type PrintedFile, type PrintedLoad } from './dialects.js';
import { warehouseScript } from './warehouse-script.js';

/** The databases for which statements can be printed. */
export const printDialects = ['postgres', 'duckdb', 'snowflake', 'bigquery', 'redshift'] as const;
/** A database for which statements can be printed. */
export type PrintDialect = (typeof printDialects)[number];

/**
 * @throws ConfigError `LOAD_NAMES` for names that Postgres could not distinguish, which is the strictest database;
 *   `LOAD_TABLE_NAME` for Postgres and DuckDB.
 */
export function printLoad(load: PrintedLoad, dialect: PrintDialect): string {
  checkNames(load.table, postgresDialect.systemColumns);
  const { table, publication, run, file } = load;
  const head = [
    `-- Publication ${publication} of pipeline ${table.pipeline} (run ${run}, ${file.records} rows) into ${oneLine(table.table)}, mode ${table.mode}.`,
    '-- The same script again changes nothing. Never run an older one after a newer one.',
  ];
  const script =
    dialect === 'postgres' || dialect === 'duckdb'
      ? loadScript(load, clients[dialect])
      : warehouseScript(load, dialects[dialect]);
  return `${[...head, ...script].join('\n')}\n`;
}

/** What a script needs besides the statements of `load.into`. */
interface Client {
  readonly dialect: SqlDialect;
  /** The command that runs the script and ends at the first error. */
  readonly note: string;
  quote(text: string): string;
  /** The name of a table as `load.into` records it. */
  recorded(name: string): string;
  /** Reads the file into the staging table. */
  copy(staging: CopyTarget, file: PrintedFile): string;
  /** Drops the staging table, so that the session can run the script again; null if the commit drops it. */
  readonly drop: string | null;
  /** Whether every table of the database stores all rows that it is given: there are no triggers, rules and policies. */
  readonly isPlain: boolean;
  /** Ends the script with an error if the condition is true. */
  refuse(condition: string, why: string): string;
}

const AWS = '-- psql reads S3 through the AWS command line.\n';
const HTTPFS = `-- DuckDB reads S3 with its extension httpfs (install httpfs) and a secret for the bucket:
-- create secret (type s3, provider credential_chain);
`;

const LACKING = 'not all rows of the output have arrived';
const LEFT_OUT =
  'the table does not store the output unchanged: a trigger, a rule or a policy of it decides on its rows';

const clients: Readonly<Record<'postgres' | 'duckdb', Client>> = {
  postgres: {
    dialect: postgresDialect,
    note: '-- For psql -v ON_ERROR_STOP=1.',
    quote: quotePostgres,
    recorded: (name) => name,
    drop: null,
    copy: (staging, file) =>
      `${isS3(file.path) ? AWS : ''}\\${copyText(staging).replace('from stdin', () => `from ${psqlSource(file)}`)}`,
    isPlain: false,
    refuse: (condition, why) => `do $foliopipe$ begin
  if ${condition} then
    raise exception '${why}';
  end if;
end $foliopipe$;`,
  },
  duckdb: {
    dialect: duckdbDialect,
    note: '-- For duckdb -bail FILE.',
    quote: quoteDuckdb,
    recorded: foldName,
    drop: `drop table ${duckdbDialect.staging};`,
    copy: (staging, file) => `${isS3(file.path) ? HTTPFS : ''}${insertText(staging, allOf(file.path))};`,
    isPlain: true,
    refuse: (condition, why) => `select case when ${condition} then error('${why}') end;`,
  },
};

/** The statements that a load into `load.into` runs. */
function loadScript({ table: load, publication, run, sha256, file }: PrintedLoad, client: Client): string[] {
  const { columns } = fitTable({ ...load, onSchema: 'add' }, undefined, undefined);
  const { table, mode, onRemoved, pipeline } = load;
  const { dialect, quote } = client;
  const [name, ...schema] = namesIn(table).reverse();
  const loads = [...schema.reverse().map(quoteName), LOADS_TABLE].join('.');
  const plan = {
    dialect,
    table,
    mode,
    columns,
    isDelta: false,
    deletesGone: onRemoved === 'delete',
    run,
    isPlain: client.isPlain,
  };
  const { deletes, write } = writeStatements(plan);
  const [unfit, stored] = [findUnfitKey(plan), countStored(plan)];
  const leftOut = presentTexts([
    unfit !== undefined && `exists (${unfit})`,
    stored !== undefined && `(${inlined(stored)}) <> ${file.records}`,
  ]);
  const values = [client.recorded(name!), pipeline, publication, run, sha256, mode, onRemoved];
  const names = JSON.stringify([...columns.map((column) => column.name)]);
  const key = keyColumns(columns).map((column) => quoteName(column.name));
  return presentTexts([
    client.note,
    '',
    '-- If the table is missing:',
    ...createTable(dialect, table, mode, columns).flatMap((text) => asComment(`${text};`)),
    ...(mode === 'merge'
      ? [
          '-- If it has no unique index over the key:',
          ...asComment(`create unique index on ${table} (${key.join(', ')});`),
        ]
      : []),
    ...(mode === 'append'
      ? [
          `-- If it has no column ${RUN_COLUMN}:`,
          ...addColumns(dialect, table, [RUN_COLUMN]).map((text) => `-- ${text};`),
        ]
      : []),
    '',
    `${createLoadsText(loads)};`,
    'begin;',
    `${createStaging(plan)};`,
    client.copy(stagingTarget(plan), file),
    client.refuse(`(select count(*) from ${dialect.staging}) <> ${file.records}`, LACKING),
    ...[...deletes, write].map((statement) => `${inlined(statement)};`),
    ...leftOut.map((condition) => client.refuse(condition, LEFT_OUT)),
    `insert into ${loads} (target, pipeline, publication, run, sha256, mode, on_removed, columns, records)
values (${values.map((value) => (typeof value === 'number' ? value : quote(value))).join(', ')}, ${quote(names)}, ${file.records})
on conflict do nothing;`,
    client.drop !== null && client.drop,
    'commit;',
  ]);
}

/** From where psql reads the file. psql decompresses nothing itself, and reads S3 through another program. */
function psqlSource({ path, format }: PrintedFile): string {
  const decompress = { csv: null, 'csv.gz': 'gzip -dc', 'csv.zst': 'zstd -dc', parquet: null }[format];
  const file = inShellQuotes(path);
  if (isS3(path)) {
    const command = [`aws s3 cp ${file} -`, decompress].filter((part) => part !== null).join(' | ');
    return `program ${quotePostgres(command)}`;
  }
  // Skips the headers of all files except the first. This fails for a header with line feeds, and the check of the number
  // of rows detects that.
  if (isFolder(path)) return `program ${quotePostgres(`awk 'FNR > 1 || NR == 1' ${file}*.csv`)}`;
  return decompress === null ? quotePostgres(path) : `program ${quotePostgres(`${decompress} ${file}`)}`;
}

function asComment(text: string): string[] {
  return text.split('\n').map((line) => `-- ${line}`);
}
