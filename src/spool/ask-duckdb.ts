/** Runs the query of a source on a DuckDB file, which is opened read-only in a child process. */
import { DuckdbError, type DuckdbSession, openDuckdb } from '../duckdb/open-duckdb.js';
import { quoteText } from '../sql-text.js';
import type { AskDatabase, DatabaseQuery } from './ask-database.js';
import { fillCopy, type Spool } from './spool-folder.js';
import { firstLine, invalidQuery, translateDuckdbError, troubleOfDuckdb } from './translate-error.js';

export const askDuckdb: AskDatabase = {
  columns: (query) => inSession(query, (session) => columnsOf(session, query.sql)),
  copy: (query, spool) => inSession(query, (session) => copyByDuckdb(session, query.sql, spool)),
};

/** The names of the columns of a query, which is not run. */
export async function columnsOf(session: DuckdbSession, sql: string): Promise<readonly string[]> {
  const rows = await session.rows<{ readonly column_name: string }>(`describe (\n${sql}\n)`);
  return rows.map(({ column_name }) => column_name);
}

/**
 * Copies what a query gives, in its order.
 * @returns the path of the copy.
 * @throws DuckdbError; the system's error `ENOSPC`; those of `fillCopy`.
 */
export async function copyByDuckdb(session: DuckdbSession, sql: string, spool: Spool): Promise<string> {
  const { length } = await columnsOf(session, sql);
  return fillCopy(spool, (path) =>
    session.run(copyStatement(sql, length, path)).catch((error: unknown) => {
      const isFull = error instanceof DuckdbError && /No space left|quota exceeded/i.test(error.message);
      throw isFull ? Object.assign(new Error(error.message), { code: 'ENOSPC', path }) : error;
    }),
  );
}

/**
 * The statement that writes the answer of a query into a file, in its order. A row of one empty field would be an empty
 * line, which is no record: a single column is quoted always, and its NULL becomes an empty text.
 */
function copyStatement(sql: string, columns: number, path: string): string {
  const isSingle = columns === 1;
  const asked = isSingle ? `select coalesce(cast(columns(*) as varchar), '') from (\n${sql}\n)` : sql;
  const form = `format csv, header true, delimiter ',', quote '"', escape '"', nullstr ''`;
  const options = `${form}, use_tmp_file false${isSingle ? ', force_quote *' : ''}`;
  return `set preserve_insertion_order = true; copy (\n${asked}\n) to ${quoteText(path)} (${options})`;
}

async function inSession<T>(
  { address, tempFolder, signal }: DatabaseQuery,
  body: (session: DuckdbSession) => Promise<T>,
): Promise<T> {
  const place = String(address);
  let session: DuckdbSession | undefined;
  try {
    const options = { database: address.file!, readOnly: true, tempFolder, signal };
    session = await openDuckdb('source.query of a DuckDB file', options);
    return await body(session);
  } catch (error) {
    if (!(error instanceof DuckdbError)) throw error;
    if (session === undefined) throw translateDuckdbError(error, place);
    throw troubleOfDuckdb(error, place) ?? invalidQuery(place, firstLine(error));
  } finally {
    await session?.close();
  }
}
