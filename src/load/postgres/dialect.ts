/** The SQL of Postgres where it differs from that of other databases. */
import { quoteName, quoteText as quotePlain } from '../../sql-text.js';
import type { CopyTarget, SqlDialect } from '../database.js';

/** The setting from which copied rows take their run: a COPY gives each column of the file, and no other value. */
export const RUN_SETTING = 'foliopipe.run';

/** As `pg_get_expr` writes it. */
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
 * Columns without a value in the file get their defaults. An empty cell without quotes becomes null, one with quotes an
 * empty text.
 */
export function copyText({ table, columns }: Pick<CopyTarget, 'table' | 'columns'>): string {
  const names = columns.map(({ name }) => quoteName(name)).join(', ');
  return `copy ${table} (${names}) from stdin (format csv, header true, encoding 'UTF8')`;
}

/** A text in quotes; backslashes in it are no escapes. */
export function quoteText(text: string): string {
  const quoted = quotePlain(text);
  return quoted.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}
