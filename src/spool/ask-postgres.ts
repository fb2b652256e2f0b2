/** Runs the query of a source in Postgres, in one read-only snapshot. */
import { ConfigError } from '../errors.js';
import { type Transaction, withTransaction } from '../postgres/connect.js';
import { quoteName } from '../sql-text.js';
import type { AskDatabase, DatabaseQuery } from './ask-database.js';
import { writeCopy } from './spool-folder.js';
import { translatePostgresError } from './translate-error.js';

export const askPostgres: AskDatabase = {
  columns: (query) => inSnapshot(query, (transaction) => columnsOf(transaction, query)),
  copy: (query, spool) =>
    inSnapshot(query, async (transaction) => {
      const columns = await columnsOf(transaction, query);
      return writeCopy(spool, transaction.copyTo(copyStatement(query.sql, columns)));
    }),
};

async function columnsOf({ query }: Transaction, { sql }: DatabaseQuery): Promise<readonly string[]> {
  const { columns } = await query(`${BEFORE_QUERY}${sql}\n) as source limit 0`);
  return columns;
}

const BEFORE_QUERY = 'select * from (\n';

/** The line of the query in the statement that asks for its columns, which comes first. */
function lineIn(sql: string, position: number): number | undefined {
  // Postgres counts characters, and not the units of a string.
  const characters = [...sql];
  const at = position - 1 - BEFORE_QUERY.length;
  return at >= characters.length
    ? undefined
    : characters.slice(0, at).filter((one) => one === '\n').length + 1;
}

/**
 * NULL is an empty field, and an empty text a quoted one. A row of one empty field would be an empty line, which is no
 * record: a single column is quoted always, and its NULL becomes an empty text.
 */
function copyStatement(sql: string, columns: readonly string[]): string {
  const [only, ...others] = columns;
  const options = "format csv, header true, delimiter ',', quote '\"', escape '\"', null '', encoding 'UTF8'";
  if (only === undefined || others.length > 0) return `copy (\n${sql}\n) to stdout (${options})`;
  const name = quoteName(only);
  const text = `select coalesce(source.${name}::text, '') as ${name} from (\n${sql}\n) as source`;
  return `copy (${text}) to stdout (${options}, force_quote *)`;
}

function inSnapshot<T>(
  { address, connectMs, signal, sql }: DatabaseQuery,
  body: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const begin = 'begin isolation level repeatable read read only';
  const translate = (error: unknown, place: string) =>
    translatePostgresError(error, place, (position) => lineIn(sql, position));
  const options = { address, connectMs, begin, driverMissing, translate };
  return withTransaction(options, signal, async (transaction) => {
    // Dates are texts that do not depend on the role's settings. The time zone is the role's: current_date needs it.
    await transaction.query("set local datestyle = 'ISO, YMD'");
    return body(transaction);
  });
}

function driverMissing(): ConfigError {
  return new ConfigError('SOURCE_DRIVER_MISSING', 'source.query needs the packages pg and pg-copy-streams', {
    hint: 'npm install pg pg-copy-streams',
  });
}
