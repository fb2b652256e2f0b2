/**
 * Copies Parquet files into the spool as CSV, one copy a file. A list beside the copies names the stamps of the files
 * from which they were made, so that an unchanged file is not read again.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DuckdbError, type DuckdbSession, openDuckdb } from '../duckdb/open-duckdb.js';
import { SourceError } from '../errors.js';
import { fileStamp, refuseRestamped, unreadable } from '../source/source-files.js';
import { quoteText } from '../sql-text.js';
import { writeFileAtomically } from '../streams/atomic-file.js';
import { columnsOf, copyByDuckdb } from './ask-duckdb.js';
import { type Spool, TEMPORARY } from './spool-folder.js';
import { firstLine, noRoomForDuckdb } from './translate-error.js';

/** A file, its stamp when it was read, and the name of its copy. */
interface KnownFile {
  readonly path: string;
  readonly stamp: string;
  readonly copy: string;
}

const LIST = 'parquet.json';
const NEED = 'a source of Parquet files';

/**
 * @param files their paths, in the order of the source.
 * @param known a folder with copies of earlier runs, which may be that of the spool.
 * @returns the paths of the copies, in this order.
 * @throws SourceError `SOURCE_UNREADABLE`, `SOURCE_CHANGED`; ConfigError `DUCKDB_MISSING`; TroubleError `DUCKDB_ENDED`,
 *   `DUCKDB_NO_ROOM`; those of `fillCopy`.
 */
export async function copyParquet(
  files: readonly string[],
  known: string,
  spool: Spool,
): Promise<readonly string[]> {
  const earlier = readList(known);
  const list: KnownFile[] = [];
  const copies: string[] = [];
  let session: DuckdbSession | undefined;
  try {
    for (const path of files) {
      const { stamp } = await fileStamp(path);
      const same = earlier.find((one) => one.path === path && one.stamp === stamp);
      let copy = same && join(known, basename(same.copy));
      if (copy === undefined || !existsSync(copy)) {
        session ??= await openSession(spool);
        copy = await copyFile(session, path, stamp, spool);
      }
      copies.push(copy);
      list.push({ path, stamp, copy: basename(copy) });
    }
  } finally {
    await session?.close();
  }
  if (session !== undefined) await writeList(spool.folder, list);
  return copies;
}

/** The names of the columns of a file. Reads no rows. @throws as `copyParquet`. */
export async function parquetColumns(
  path: string,
  spool: Pick<Spool, 'folder' | 'signal'>,
): Promise<readonly string[]> {
  await fileStamp(path);
  const session = await openSession(spool);
  try {
    return await columnsOf(session, selectFrom(path));
  } catch (error) {
    throw explain(path, error);
  } finally {
    await session.close();
  }
}

async function openSession({ folder, signal }: Pick<Spool, 'folder' | 'signal'>): Promise<DuckdbSession> {
  const session = await openDuckdb(NEED, {
    database: ':memory:',
    tempFolder: join(folder, TEMPORARY),
    signal,
  });
  // Times with a zone are texts that do not depend on the machine.
  await session.run("set timezone = 'UTC'");
  return session;
}

/** @throws SourceError when the file is changed meanwhile. */
async function copyFile(session: DuckdbSession, path: string, stamp: string, spool: Spool): Promise<string> {
  try {
    const copy = await copyByDuckdb(session, selectFrom(path), spool);
    await refuseRestamped(path, { stamp });
    return copy;
  } catch (error) {
    throw explain(path, error);
  }
}

/**
 * All columns are those of the file: names of folders such as `day=1` add none. Brackets name a file that has some.
 * @throws SourceError for a path that DuckDB cannot be told: where it looks for names, it cuts the path at a backslash.
 */
function selectFrom(path: string): string {
  if (path.includes('\\') && /[*?[]/.test(path)) {
    throw new SourceError(
      'SOURCE_UNREADABLE',
      `${path}: DuckDB finds no Parquet file whose path has both a backslash and one of * ? [`,
      { hint: 'rename the file, or the folder that has them', facts: { file: path } },
    );
  }
  const exact = path.replaceAll(/[*?[]/g, (character) => `[${character}]`);
  return `select * from read_parquet(${quoteText(exact)}, hive_partitioning = false)`;
}

function explain(path: string, error: unknown): unknown {
  if (!(error instanceof DuckdbError)) return error;
  const noRoom = noRoomForDuckdb(error, path);
  if (noRoom !== undefined) return noRoom;
  const text = firstLine(error);
  if (error.kind === 'IO') return unreadable(path, new Error(text, { cause: error }));
  return new SourceError('SOURCE_UNREADABLE', `${path}: this is no Parquet file, or it is damaged: ${text}`, {
    hint: 'write or copy it again; a file of another format needs the ending of that format, such as .csv',
    facts: { file: path },
    cause: error,
  });
}

/** A list that cannot be read says nothing: the files are read again. */
function readList(folder: string): readonly KnownFile[] {
  try {
    return JSON.parse(readFileSync(join(folder, LIST), 'utf8')) as KnownFile[];
  } catch {
    return [];
  }
}

async function writeList(folder: string, files: readonly KnownFile[]): Promise<void> {
  await writeFileAtomically(join(folder, LIST), 0o600, (file) => writeFileSync(file, JSON.stringify(files)));
}
