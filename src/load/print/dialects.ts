/** The differences between the databases for which foliopipe only prints statements. */

import { isFolder, isS3 } from '../../config/sections/output-names.js';
import type { OutputFormat } from '../../output-format.js';
import { quoteName, quoteText } from '../../sql-text.js';
import { inShellQuotes } from '../../text.js';
import type { LoadTable } from '../load-target.js';
import { foldName } from '../names.js';

/** The publication for which statements are printed. */
export interface PrintedLoad {
  readonly table: LoadTable;
  readonly publication: number;
  readonly run: string;
  /** The hash of the output, hex. */
  readonly sha256: string;
  readonly file: PrintedFile;
}

export interface PrintedFile {
  /** If it ends in `/`, a folder that holds the output as several CSV files, each with the header. */
  readonly path: string;
  readonly format: OutputFormat;
  readonly records: number;
}

export interface Dialect {
  /** What runs the statements, and what a person must fill in. */
  readonly notes: readonly string[];
  /** The type of a text. */
  readonly text: string;
  /** The quoted form of the name under which the database stores a name without quotes. */
  name(name: string): string;
  /** The name of a table, with its schema, from the config. */
  table(name: string): string;
  /** Whether there is a MERGE with conditions; otherwise UPDATE and INSERT. */
  readonly hasMerge: boolean;
  /** A staged cell as a value. */
  staged(column: string): string;
  /** Columns of a subquery that is compared with a tuple of columns. */
  tuple(columns: readonly string[]): string;
  /** Whether two values differ; null equals null. */
  differ(a: string, b: string): string;
  /** Makes the script fail if the staging table has another number of rows. */
  assertRows(records: number): string;
  /** The lines that put the file into the staging table, before the transaction begins. */
  stage(columns: readonly string[], file: PrintedFile): readonly string[];
  readonly begin: string;
  readonly commit: string;
}

/** All files at the path. */
export function allOf(path: string): string {
  return isFolder(path) ? `${path}*.csv` : path;
}

/** A place for a file in a bucket: its own name; for the folder of a publication, with the publication's name. */
function bucketKey(path: string): string {
  return path
    .split('/')
    .slice(isFolder(path) ? -3 : -1)
    .join('/');
}

export const STAGING = 'foliopipe_staging';

const PLAIN = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The parts of `load.table` between its dots, the last one first. A part in quotes may hold a dot. */
export function tableParts(table: string): string[] {
  return (table.match(/"(?:[^"]|"")*"|[^."]+/g) ?? [table]).reverse();
}

/** A part without its quotes. */
export function exactName(part: string): string {
  return part.startsWith('"') ? part.slice(1, -1).replaceAll('""', '"') : part;
}

/** @param write writes a part without quotes; parts in quotes stay unchanged. */
function everyPart(table: string, write: (part: string) => string): string {
  const written = tableParts(table).map((part) => (part.startsWith('"') ? part : write(part)));
  return written.reverse().join('.');
}

/** A division by zero is the only way to fail within plain statements. */
const divisionAssert = (records: number) =>
  `select 1 / case when count(*) = ${records} then 1 else 0 end as all_rows_arrived from ${STAGING};`;

/** Where the name of an object begins, after its folders. */
const nameAt = (path: string) => path.lastIndexOf('/') + 1;

const snowflakeName = (name: string) => quoteName(PLAIN.test(name) ? name.toUpperCase() : name);

const snowflake: Dialect = {
  notes: [
    '-- For snowsql with -o exit_on_error=true, or snow sql. The role needs CREATE TABLE in the schema.',
  ],
  text: 'varchar',
  name: snowflakeName,
  table: (table) => everyPart(table, snowflakeName),
  hasMerge: true,
  staged: (column) => `s.${column}`,
  tuple: (columns) => columns.join(', '),
  differ: (a, b) => `${a} is distinct from ${b}`,
  assertRows: divisionAssert,
  stage: (columns, { path }) => [
    `create or replace temporary table ${STAGING} (${columns.map((name) => `${name} varchar`).join(', ')});`,
    ...(isS3(path)
      ? [
          '-- Write the name of your storage integration for the bucket (create storage integration) in place of INTEGRATION.',
          // Without FILES, it takes all objects whose names begin with the path, also the manifest of the output.
          `copy into ${STAGING} from ${quoteText(path.slice(0, nameAt(path)))} storage_integration = INTEGRATION`,
          `  files = (${quoteText(path.slice(nameAt(path)))})`,
        ]
      : [
          `put ${quoteText(`file://${allOf(path)}`)} @%${STAGING} auto_compress = true overwrite = true;`,
          `copy into ${STAGING} from @%${STAGING}`,
        ]),
    `  file_format = (type = csv skip_header = 1 field_optionally_enclosed_by = '"' escape_unenclosed_field = none
                 empty_field_as_null = true null_if = () encoding = 'UTF8')
  on_error = abort_statement;`,
  ],
  begin: 'begin transaction;',
  // Snowflake has no COMMIT TRANSACTION.
  commit: 'commit;',
};

function bigQuerySource(path: string, format: OutputFormat): string {
  if (isFolder(path)) return `gs://BUCKET/${bucketKey(path)}*.csv`;
  return format === 'csv.zst' ? path.slice(0, -'.zst'.length) : path;
}

const bigQueryName = (name: string) => `\`${name.replaceAll('`', '_')}\``;

const bigquery: Dialect = {
  notes: [
    '-- The command bq load is for a shell; the rest for bq query --use_legacy_sql=false --dataset_id=DATASET, as one script.',
    '-- In a CSV, BigQuery does not distinguish an empty text from a missing value: both become null.',
  ],
  text: 'string',
  name: bigQueryName,
  table: (table) => bigQueryName(tableParts(table).map(exactName).reverse().join('.')),
  hasMerge: true,
  staged: (column) => `nullif(s.${column}, '')`,
  tuple: (columns) => (columns.length === 1 ? columns[0]! : `(${columns.join(', ')})`),
  differ: (a, b) => `${a} is distinct from ${b}`,
  assertRows: (records) =>
    `assert (select count(*) from ${STAGING}) = ${records} as 'not all rows of the output have arrived';`,
  // BigQuery reads gzip, but not zstd.
  stage: (columns, { path, format }) => {
    const local = isS3(path) ? path.slice(nameAt(path)) : path;
    return [
      ...(isS3(path)
        ? [
            '-- The command cannot load from S3: copy the file to this machine first, or to gs://BUCKET and name that copy.',
            `-- aws s3 cp ${inShellQuotes(path)} ${inShellQuotes(local)}`,
          ]
        : []),
      ...(format === 'csv.zst' ? [`-- zstd -d --keep ${inShellQuotes(local)}`] : []),
      // From this machine, bq load takes only a single file.
      ...(isFolder(path)
        ? [`-- gcloud storage cp ${inShellQuotes(path)}*.csv gs://BUCKET/${bucketKey(path)}`]
        : []),
      `-- bq load --replace --source_format=CSV --skip_leading_rows=1 --allow_quoted_newlines ${STAGING} ${inShellQuotes(bigQuerySource(local, format))} ${columns.map((name) => `${name}:string`).join(',')}`,
    ];
  },
  begin: 'begin transaction;',
  commit: 'commit transaction;',
};

/** How COPY in Redshift names the compression. The other databases detect it. */
const COMPRESSION: Readonly<Record<OutputFormat, string>> = {
  csv: '',
  'csv.gz': ' gzip',
  'csv.zst': ' zstd',
  parquet: '',
};

/** A manifest makes COPY read one object. Without it, COPY reads all objects whose names begin with the given name. */
function redshiftManifest(path: string): string {
  const manifest = JSON.stringify({ entries: [{ url: path, mandatory: true }] });
  return `-- First, in a shell: echo ${inShellQuotes(manifest)} | aws s3 cp - ${inShellQuotes(`${path}${MANIFEST}`)}`;
}

const MANIFEST = '.copy-manifest';

const redshift: Dialect = {
  notes: [
    '-- For psql -v ON_ERROR_STOP=1. COPY reads the output from S3: if it is not there, copy it into a bucket first.',
    '-- COPY reads all objects whose names begin with the given name: no other object may have such a name.',
  ],
  text: 'varchar(65535)',
  name: (name) => quoteName(foldName(name)),
  table: (table) => everyPart(table, (part) => quoteName(foldName(part))),
  hasMerge: false,
  staged: (column) => `s.${column}`,
  tuple: (columns) => columns.join(', '),
  // Redshift has no IS DISTINCT FROM. No cell of a CSV that foliopipe writes is exactly chr(1).
  differ: (a, b) => `coalesce(${a}, chr(1)) <> coalesce(${b}, chr(1))`,
  assertRows: divisionAssert,
  stage: (columns, { path, format }) => [
    `drop table if exists ${STAGING};`,
    `create temp table ${STAGING} (${columns.map((name) => `${name} varchar(65535)`).join(', ')});`,
    ...(isS3(path) ? [redshiftManifest(path)] : []),
    `copy ${STAGING} from ${quoteText(isS3(path) ? `${path}${MANIFEST}` : `s3://BUCKET/${bucketKey(path)}`)} iam_role default
  format csv${COMPRESSION[format]} ignoreheader 1 emptyasnull${isS3(path) ? ' manifest' : ''};`,
  ],
  begin: 'begin;',
  commit: 'commit;',
};

export const dialects: Readonly<Record<'snowflake' | 'bigquery' | 'redshift', Dialect>> = {
  snowflake,
  bigquery,
  redshift,
};
