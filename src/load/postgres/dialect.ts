/** The SQL of Postgres where it differs from that of other databases. */
import { quoteName, quoteText as quotePlain } from '../../sql-text.js';
import type { CopyTarget, SqlDialect } from '../database.js';

/** The setting from which copied rows take their run: COPY can give only values that are in the file. */
export const RUN_SETTING = 'foliopipe.run';

/** Written as `pg_get_expr` shows it, to be compared with that. */
export const RUN_DEFAULT = `current_setting('${RUN_SETTING}'::text, true)`;

const STAGING = 'foliopipe_staging';

export const postgresDialect: SqlDialect = {
  staging: `pg_temp.${STAGING}`,
  createStaging: (columns) => `create temp table ${STAGING} (${columns}) on commit drop`,
  runDefault: RUN_DEFAULT,
  hasRunIndex: true,
  systemColumns: new Set(['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid']),
};

/**
 * The statement that copies the file. Columns that are not in the file get their defaults. An empty cell without quotes
 * becomes null, one with quotes an empty text.
 */
export function copyText({ table, columns }: Pick<CopyTarget, 'table' | 'columns'>): string {
  const names = columns.map(({ name }) => quoteName(name)).join(', ');
  return `copy ${table} (${names}) from stdin (format csv, header true, encoding 'UTF8')`;
}

/** Quotes a text, so that backslashes in it are not read as escapes. */
export function quoteText(text: string): string {
  const quoted = quotePlain(text);
  return quoted.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}
