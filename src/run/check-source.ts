/**
 * Finds the files of the source and checks them from beginning to end (rule "Check before paying",
 * docs/architecture.md#check-before-paying), unless they still have the stamps of an earlier check.
 */
import type { Run } from '../checkpoint/checkpoint.js';
import type { Config } from '../config/schema.js';
import { checkDuckdb } from '../duckdb/open-duckdb.js';
import { PARQUET_NEED } from '../duckdb/write-parquet.js';
import { ConfigError } from '../errors.js';
import { checkCompression } from '../files/encoded-file.js';
import type { OutputStore } from '../files/output-store.js';
import { createLoadTable } from '../load/configured-load.js';
import { outputFormat } from '../output-format.js';
import { outputNames } from '../report/manifest.js';
import { checkParquetNames, checkTypes } from '../results/column-types.js';
import {
  createOutputLayout,
  fieldOf,
  type LayoutSource,
  type OutputLayout,
  outputColumns,
} from '../results/output-layout.js';
import { isWithinLimit } from '../source/reject-limit.js';
import { type ScanSourceOptions, scanSource } from '../source/scan-source.js';
import { fileStamp, findFiles } from '../source/source-files.js';
import { createUploadLayout, maxRecordBytes } from '../stages/chunk/cut-chunks.js';
import { showText } from '../text.js';
import type { RejectLimit, Source } from '../types.js';
import { refuseOwnFiles } from './check-output.js';
import type { RunOptions } from './run-options.js';

/** What `checkSource` may be told. */
export type CheckSourceOptions = Pick<RunOptions, 'onScan'> & Pick<ScanSourceOptions, 'watch' | 'onExcess'>;

/**
 * Checks the shape of every record, the configured columns, and that the output can be put in place. `source.maxRejected`
 * is checked for a run that may begin. A run that has begun goes on whatever the limit is now: it sends the same records.
 * @param mayBegin whether a new run may begin with the source.
 * @param known a run with the same settings; if the files still have the stamps of its source, they are not read.
 */
export async function checkSource(
  {
    config,
    output,
    signal,
  }: {
    readonly config: Config;
    readonly output: Pick<OutputStore, 'check'>;
    readonly signal: AbortSignal;
  },
  options: CheckSourceOptions,
  mayBegin: boolean,
  known?: Run,
): Promise<Source> {
  const paths = await findFiles(config.source.path);
  await output.check(outputNames(config.output.path), paths);
  await refuseOwnFiles(config, paths);
  const limit = mayBegin ? config.source.maxRejected : { share: 1 };
  const isKnown =
    known !== undefined &&
    isWithinLimit(known.source, limit) &&
    wasKeyChecked(known, config) &&
    (await hasSameStamps(known.source, paths));
  const source = isKnown ? known.source : await scan(config, { ...options, signal }, paths, limit);
  checkColumns(source, config);
  return source;
}

/**
 * @throws ConfigError `CONFIG_COLUMN_MISSING`, `OUTPUT_COLUMN_TAKEN`, `OUTPUT_KEY_MISSING`, `OUTPUT_TYPES_UNKNOWN`,
 *   `OUTPUT_NAMES_ALIKE`, for a header that does not fit the config; `ZSTD_MISSING`, `DUCKDB_MISSING`.
 */
export function checkColumns(header: LayoutSource, config: Config): void {
  const { source, upload, output, load } = config;
  createUploadLayout(header, upload);
  const layout = createOutputLayout(header, output);
  const { sourceColumns } = layout;
  for (const column of source.key ?? []) {
    fieldOf(header.columns, column, 'source.key');
    if (!output.delta || sourceColumns.includes(column)) continue;
    throw new ConfigError(
      'OUTPUT_KEY_MISSING',
      `output.columns leaves out ${showText(column)}, which output.delta needs to name a record`,
      { hint: 'add the columns of source.key to output.columns', facts: { column } },
    );
  }
  if (load !== null) createLoadTable(config, layout, []);
  checkFormat(config, layout);
}

/** Checks that the output can be written in its format, as far as its columns are known. */
function checkFormat({ output, result }: Config, layout: OutputLayout): void {
  const format = outputFormat(output.path);
  checkCompression(format);
  if (format !== 'parquet') return;
  checkDuckdb(PARQUET_NEED);
  checkTypes(layout, result.columns, output.types, result.columns.length > 0 && result.onChange !== 'add');
  checkParquetNames(outputColumns(layout, result.columns));
}

/** Whether a run has read its source with the same `source.key`. Without a key there is nothing to check. */
function wasKeyChecked(known: Run, { source: { key } }: Config): boolean {
  return key === null || known.frozen['source.key'] === JSON.stringify(key);
}

async function scan(
  config: Config,
  options: CheckSourceOptions & Pick<ScanSourceOptions, 'signal'>,
  paths: readonly string[],
  maxRejected: RejectLimit,
): Promise<Source> {
  const { encoding, delimiter, key } = config.source;
  return scanSource({
    paths,
    encoding,
    delimiter,
    maxRejected,
    ...(config.upload.skipBlank && { sentColumns: Object.values(config.upload.columns) }),
    maxRecordBytes: maxRecordBytes(config.upload, config.chunks.maxBytes),
    ...(key !== null && { keyCheck: { columns: key, folder: config.stateDir } }),
    signal: options.signal,
    ...(options.watch && { watch: options.watch }),
    ...(options.onExcess && { onExcess: options.onExcess }),
    ...(options.onScan && { onProgress: options.onScan }),
  });
}

async function hasSameStamps(known: Source, paths: readonly string[]): Promise<boolean> {
  if (known.files.length !== paths.length) return false;
  for (const [index, file] of known.files.entries()) {
    if (file.path !== paths[index] || (await fileStamp(file.path)).stamp !== file.stamp) return false;
  }
  return true;
}
