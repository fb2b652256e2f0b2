/**
 * Finds the files of the source and checks them from beginning to end (rule "Check before paying",
 * docs/architecture.md#check-before-paying), unless they still have the stamps of an earlier check.
 */
import { dirname } from 'node:path';
import type { Run } from '../../checkpoint/checkpoint.js';
import type { Config } from '../../config/schema.js';
import { OWN_DIALECT } from '../../config/sections/source-section.js';
import { checkDuckdb } from '../../duckdb/open-duckdb.js';
import { PARQUET_NEED } from '../../duckdb/write-parquet.js';
import { ConfigError, reworded, SourceError } from '../../errors.js';
import { checkCompression } from '../../files/encoded-file.js';
import type { OutputStore } from '../../files/output-store.js';
import { createLoadTable } from '../../load/configured-load.js';
import { type Logger, silentLogger } from '../../logger.js';
import { outputFormat } from '../../output-format.js';
import { countOf, formatBytes, formatCount } from '../../quantities.js';
import { checkParquetNames, checkTypes } from '../../results/column-types.js';
import {
  createOutputLayout,
  fieldOf,
  type LayoutSource,
  type OutputLayout,
  outputColumns,
} from '../../results/output-layout.js';
import { isWithinLimit } from '../../source/reject-limit.js';
import { type ScanSourceOptions, scanSource } from '../../source/scan-source.js';
import { fileStamp } from '../../source/source-files.js';
import { namedFiles, type OpenSourceOptions, openSource, type SourceFiles } from '../../spool/open-source.js';
import { checkCopies } from '../../spool/spool-folder.js';
import { createUploadLayout, maxRecordBytes } from '../../stages/chunk/cut-chunks.js';
import { systemClock } from '../../streams/clock.js';
import { showText } from '../../text.js';
import type { RejectLimit, Source } from '../../types.js';
import type { RunOptions } from '../run-options.js';
import { checkOutputPlace } from './check-output.js';
import { withColumnHint } from './column-hint.js';
import { doubtHeader } from './doubt-header.js';

/** Options of `checkSource`. */
export type CheckSourceOptions = Pick<
  RunOptions,
  'onProgress' | 'stdin' | 'records' | 'at' | 'logger' | 'clock' | 'limit'
> &
  Pick<ScanSourceOptions, 'watch' | 'onExcess'> &
  Pick<OpenSourceOptions, 'kept' | 'copies' | 'folder' | 'makeRoom'>;

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
  const named = await namedFiles(config.source);
  await checkOutputPlace(config, output, named);
  const { logger = silentLogger, clock = systemClock } = options;
  const emit = options.onProgress;
  const onCopy = emit && ((copied: { readonly bytes: number }) => emit({ type: 'copy', ...copied }));
  const opened = await openSource(config, named, {
    ...options,
    onCopy,
    logger,
    now: clock.now(),
    signal,
  });
  const { paths } = opened;
  const { onExcess } = options;
  const scanning = {
    ...options,
    signal,
    onExcess: onExcess && ((error: SourceError) => onExcess(nameCopies(error, opened, options.folder))),
  };
  const limit = mayBegin ? config.source.maxRejected : { share: 1 };
  const isKnown =
    known !== undefined &&
    isWithinLimit(known.source, limit) &&
    wasKeyChecked(known, config) &&
    (await hasSameStamps(known.source, paths));
  const source = isKnown
    ? known.source
    : await scan(withOwnDialect(config, opened), scanning, paths, limit).catch((error: unknown) => {
        throw nameCopies(error, opened, options.folder);
      });
  if (opened.names !== null) await checkCopies(source);
  logChecked(logger, source, isKnown);
  if (isKnown) checkColumns(source, config);
  else {
    emit?.({ type: 'scan', bytes: bytesOf(source), records: source.records, ended: true });
    const first = { ...source.files[0]!, columns: source.columns };
    const doubt = await doubtHeader(withOwnDialect(config, opened), first, signal);
    if (doubt !== undefined) logger.warn({ key: 'source.header' }, doubt);
  }
  return withNames(source, opened);
}

/** The config with the dialect that foliopipe writes itself, if it has made the text of the source from objects. */
export function withOwnDialect(config: Config, { isOurs }: SourceFiles): Config {
  if (!isOurs) return config;
  return { ...config, source: { ...config.source, ...OWN_DIALECT, quote: 'auto', skipLines: 0, isOurs } };
}

function bytesOf({ files }: Source): number {
  return files.reduce((sum, file) => sum + file.bytes, 0);
}

function logChecked(logger: Logger, source: Source, isKnown: boolean): void {
  const { files, columns, records, rejected } = source;
  const bytes = bytesOf(source);
  const what = `${countOf(records, 'record')} in ${countOf(files.length, 'file')}, ${formatBytes(bytes)}`;
  const bad = rejected === 0 ? '' : `, ${formatCount(rejected)} of them bad`;
  logger.info(
    { files: files.map(({ path }) => path), records, rejected, columns: columns.length, bytes },
    isKnown
      ? `the source is unchanged since it was checked: ${what}${bad}`
      : `the source is checked: ${what}${bad}, ${countOf(columns.length, 'column')}`,
  );
}

/**
 * Adds to an error what was copied. The path of the copy stays, so that a person can look at it.
 * @param planFolder the folder of a plan: copies in it are removed at once.
 */
function nameCopies<E>(error: E, { paths, names }: SourceFiles, planFolder?: string): E | SourceError {
  if (!(error instanceof SourceError) || names === null) return error;
  const named = (text: string, path: string, at: number) =>
    text.replaceAll(path, dirname(path) === planFolder ? names[at]! : `${names[at]} (copied to ${path})`);
  return reworded(error, { message: paths.reduce(named, error.message) });
}

/** The source with the names of what was copied; the same one if it has them. */
function withNames(source: Source, { names }: SourceFiles): Source {
  const isNamed = source.files.every(({ name }, at) => name === names?.[at]);
  if (isNamed) return source;
  const files = source.files.map(({ name: _, ...file }, at) => ({
    ...file,
    ...(names && { name: names[at]! }),
  }));
  return { ...source, files };
}

/**
 * @throws ConfigError `CONFIG_COLUMN_MISSING`, `OUTPUT_COLUMN_TAKEN`, `OUTPUT_KEY_MISSING`, `OUTPUT_TYPES_UNKNOWN`,
 *   `OUTPUT_NAMES_ALIKE`, for a header that does not fit the config; `ZSTD_MISSING`, `DUCKDB_MISSING`.
 */
export function checkColumns(header: LayoutSource, config: Config): void {
  let layout: OutputLayout;
  try {
    layout = layOut(header, config);
  } catch (error) {
    throw withColumnHint(error, header, config.source);
  }
  if (config.load !== null) createLoadTable(config, layout, []);
  checkFormat(config, layout);
}

/** Finds all columns that the config names. */
function layOut(header: LayoutSource, { source, upload, output }: Config): OutputLayout {
  createUploadLayout(header, upload);
  const layout = createOutputLayout(header, output);
  for (const column of source.key ?? []) {
    fieldOf(header.columns, column, 'source.key');
    if (!output.delta || layout.sourceColumns.includes(column)) continue;
    throw new ConfigError(
      'OUTPUT_KEY_MISSING',
      `output.columns leaves out ${showText(column)}, which output.delta needs to name a record`,
      { hint: 'add the columns of source.key to output.columns', facts: { column } },
    );
  }
  return layout;
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
  const { key } = config.source;
  const emit = options.onProgress;
  return scanSource({
    ...config.source,
    paths,
    maxRejected,
    ...(config.upload.skipBlank && { sentColumns: Object.values(config.upload.columns) }),
    maxRecordBytes: maxRecordBytes(config.upload, config.chunks.maxBytes),
    ...(key !== null && { keyCheck: { columns: key, folder: config.stateDir } }),
    signal: options.signal,
    limit: options.limit,
    // Fails before a large source is read for nothing.
    onHeader: (header) => checkColumns(header, config),
    watch: options.watch,
    onExcess: options.onExcess,
    onProgress: emit && ((progress) => emit({ type: 'scan', ...progress })),
  });
}

async function hasSameStamps(known: Source, paths: readonly string[]): Promise<boolean> {
  if (known.files.length !== paths.length) return false;
  for (const [index, file] of known.files.entries()) {
    if (file.path !== paths[index] || (await fileStamp(file.path)).stamp !== file.stamp) return false;
  }
  return true;
}
