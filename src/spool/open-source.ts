/** Gives the files to read for a source: its own, or copies in the spool of what can be read only once or is no CSV. */
import { join } from 'node:path';
import type { Config } from '../config/schema.js';
import type { DatabaseAddress } from '../config/sections/load-section.js';
import { isParquet, type SourceQuery } from '../config/sections/source-section.js';
import { STREAM } from '../config/sections/values.js';
import { ConfigError, SourceError } from '../errors.js';
import type { Logger } from '../logger.js';
import { formatBytes, formatDuration } from '../quantities.js';
import { fileStamp, findFiles } from '../source/source-files.js';
import type { Source } from '../types.js';
import type { AskDatabase, DatabaseQuery } from './ask-database.js';
import { askDuckdb } from './ask-duckdb.js';
import { askPostgres } from './ask-postgres.js';
import { copyParquet } from './copy-parquet.js';
import { copyStdin, type InputStream, STDIN, wasCopied } from './copy-stdin.js';
import { HandedRecords, RECORDS, type SourceRecords } from './handed-records.js';
import type { SharedCopies } from './shared-copies.js';
import { copiesOf, type Spool, type SpoolPlace, spoolFolder, TEMPORARY } from './spool-folder.js';

/** The files to read. */
export interface SourceFiles {
  readonly paths: readonly string[];
  /** How each of them is shown; null if by its path. */
  readonly names: readonly string[] | null;
  /** Whether foliopipe has written the text itself, from objects that were passed in. */
  readonly isOurs?: boolean;
}

/** A run that has read copies. */
interface CopyReader {
  readonly id: string;
  readonly source: Source;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

export interface OpenSourceOptions {
  readonly at?: Spool['at'] | undefined;
  readonly onCopy?: Spool['onCopy'] | undefined;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly stdin?: InputStream | undefined;
  /** In place of standard input. */
  readonly records?: SourceRecords | HandedRecords | undefined;
  /** The run whose copies are read instead of asking again. */
  readonly kept?: CopyReader | undefined;
  /** Where copies are that all machines see. */
  readonly copies?: SharedCopies | undefined;
  /** The folder for new copies. Default: that of the pipeline. */
  readonly folder?: string | undefined;
  /** Called before a copy is written. */
  readonly makeRoom?: (() => Promise<void>) | undefined;
}

type SourceConfig = SpoolPlace & Pick<Config, 'source' | 'timeouts'>;

/**
 * The files that `source.path` names; none for standard input and for a query.
 * @throws SourceError as `findFiles`.
 */
export async function namedFiles({ path }: Config['source']): Promise<readonly string[]> {
  return path === null || path === STREAM ? [] : findFiles(path);
}

/** Whether the source is copied before it is read. */
export function isSpooled(source: Config['source']): boolean {
  return isGivenOnce(source) || isParquet(source);
}

/** Whether the copy of a source cannot be made again from files: standard input, and a query. */
function isGivenOnce({ query, path }: Config['source']): boolean {
  return query !== null || path === STREAM;
}

/**
 * Keeps the copies of a source where all machines find them, if they cannot be made again. Called before a run with this
 * source is recorded.
 * @throws LockedError `LEASE_LOST`; errors of the database.
 */
export async function keepCopies(
  config: Pick<Config, 'pipeline' | 'source'>,
  copies: SharedCopies | undefined,
  source: Source,
): Promise<void> {
  if (isGivenOnce(config.source)) await copies?.keep(config, source);
}

/**
 * @param files what `namedFiles` has given.
 * @throws SourceError `SOURCE_COPY_GONE` for standard input whose copy is gone; ConfigError `SOURCE_STDIN_MISSING`, and
 *   `SOURCE_RECORDS_PATH` for records beside a path or a query; the errors of the copies.
 */
export async function openSource(
  config: SourceConfig,
  files: readonly string[],
  options: OpenSourceOptions,
): Promise<SourceFiles> {
  const opened = await findCopies(config, files, options);
  for (const [at, path] of opened.paths.entries()) {
    const name = opened.names?.[at];
    if (name === undefined || options.kept !== undefined) continue;
    const { bytes } = await fileStamp(path);
    options.logger.info({ source: name, bytes }, `the copy of ${name} has ${formatBytes(bytes)}`);
  }
  return opened;
}

async function findCopies(
  config: SourceConfig,
  files: readonly string[],
  options: OpenSourceOptions,
): Promise<SourceFiles> {
  const { source } = config;
  if (options.records !== undefined && source.path !== STREAM) throw recordsAndPath();
  if (!isSpooled(source)) return { paths: files, names: null };
  const { kept, logger, signal, at = () => undefined, makeRoom = async () => undefined } = options;
  const known = spoolFolder(config);
  if (kept !== undefined && isGivenOnce(source)) await options.copies?.fetch(config, kept.source);
  const copies = kept && copiesOf(kept.source, known);
  if (kept !== undefined && copies !== undefined) {
    logKept(config, kept, options);
    const names = kept.source.files.map(({ name, path }) => name ?? path);
    return { paths: copies, names, isOurs: source.path === STREAM && names[0] === RECORDS };
  }
  const spool = { folder: options.folder ?? known, signal, at, onCopy: options.onCopy };
  if (source.query !== null) {
    const shown = nameOfQuery(source.query);
    const again = kept && `the copy that run ${kept.id} has read is gone: `;
    logger.info({ database: String(source.query.database) }, `${again ?? ''}asking for the source: ${shown}`);
    await makeRoom();
    const query = databaseQuery(config, source.query, spool);
    return { paths: [await databaseOf(source.query).copy(query, spool)], names: [shown] };
  }
  if (source.path === STREAM) {
    if (kept !== undefined) throw copyGone(kept);
    if (options.records instanceof HandedRecords) {
      if (!options.records.isCopied) await makeRoom();
      const columns = Array.isArray(source.header) ? source.header : undefined;
      const { path, name } = await options.records.copyInto(spool, columns);
      return { paths: [path], names: [name], isOurs: name === RECORDS };
    }
    if (options.stdin === undefined) throw noStdin();
    if (!wasCopied(options.stdin)) await makeRoom();
    return { paths: [await copyStdin(options.stdin, spool)], names: [STDIN] };
  }
  await makeRoom();
  return { paths: await copyParquet(files, known, spool), names: files };
}

/** How a query is shown: without its text, which may hold secrets. */
export function nameOfQuery({ database }: { readonly database: DatabaseAddress }): string {
  return `query of ${database}`;
}

/** The names of the columns that a query gives. Does not run it. @throws as `AskDatabase`. */
export async function queryColumns(
  config: SourceConfig,
  query: SourceQuery,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const folder = spoolFolder(config);
  return databaseOf(query).columns(databaseQuery(config, query, { folder, signal }));
}

function databaseOf({ database }: SourceQuery): AskDatabase {
  return database.file === null ? askPostgres : askDuckdb;
}

function databaseQuery(
  { timeouts }: SourceConfig,
  { database, sql }: SourceQuery,
  { folder, signal }: Pick<Spool, 'folder' | 'signal'>,
): DatabaseQuery {
  return { address: database, sql, connectMs: timeouts.connect, tempFolder: join(folder, TEMPORARY), signal };
}

function logKept({ source }: SourceConfig, run: CopyReader, { logger, now }: OpenSourceOptions): void {
  if (source.query === null) return;
  const age = formatDuration(now - run.createdAt);
  logger.info(
    { run: run.id, database: String(source.query.database) },
    `continuing with what the ${nameOfQuery(source.query)} gave ${age} ago; --new asks again`,
  );
}

function copyGone({ id, source }: CopyReader): SourceError {
  const isStdin = source.files[0]?.name === STDIN;
  const what = isStdin ? 'standard input' : 'the records';
  return new SourceError('SOURCE_COPY_GONE', `the copy of ${what} that run ${id} has read is gone`, {
    hint: isStdin
      ? 'give the same input to foliopipe run, which copies it again and pays nothing twice; then run the same command again'
      : 'pass the same records to openRun or enrich in your program, which copies them again and pays nothing twice; then the same call or command again',
    facts: { run: id, sha256: source.sha256 },
  });
}

function recordsAndPath(): ConfigError {
  return new ConfigError(
    'SOURCE_RECORDS_PATH',
    'records were passed in, and the config names another source (source.path or source.query)',
    { hint: 'leave out source.path and source.query, or set source.path to -; or pass no records' },
  );
}

function noStdin(): ConfigError {
  return new ConfigError('SOURCE_STDIN_MISSING', 'source.path is -, and no stream was given', {
    hint: 'pass one in the options of the run, as stdin, or the records themselves, as records',
  });
}
