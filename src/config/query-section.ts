/** The key `source.query`: a question to a database whose answer is the source. */
import { z } from 'zod';
import { DatabaseAddress, isDuckdbFile, isPostgres } from './load-section.js';

export const querySchema = z
  .strictObject({
    database: z
      .string()
      .refine((text) => isPostgres(text) || isDuckdbFile(text))
      .describe('an address such as postgres://user@host/database or duckdb:FILE'),
    sql: z
      .string()
      .refine((text) => text.trim() !== '' && !text.includes('\0'))
      .transform((text) => text.trim().replace(/(?:\s*;)+$/, ''))
      .describe('a query such as select * from businesses order by id'),
  })
  .nullable()
  .describe('null, or a map with the keys database and sql')
  .default(null);

type ParsedQuery = NonNullable<z.output<typeof querySchema>>;

/** The key ready for use. */
export interface SourceQuery {
  readonly database: DatabaseAddress;
  /** One statement without a semicolon at its end. It may hold secrets, and is shown nowhere. */
  readonly sql: string;
}

/** What a source that is a query, or files of columns, is read with: foliopipe has written the text itself. */
export const OWN_DIALECT = { encoding: 'utf8', delimiter: ',' } as const;

interface ParsedSource {
  readonly path: string | null;
  readonly query: Readonly<ParsedQuery> | null;
}

/** The section `source` ready for use. */
export function resolveSource<S extends ParsedSource>(
  source: S,
): Omit<S, 'query'> & { readonly query: SourceQuery | null } {
  const query = source.query && {
    database: new DatabaseAddress(source.query.database),
    sql: source.query.sql,
  };
  const isOurs = query !== null || isParquet(source);
  return { ...source, ...(isOurs && OWN_DIALECT), query };
}

/** Whether a source is files of the format Parquet, by the ending of its path. */
export function isParquet({ path }: Pick<ParsedSource, 'path'>): boolean {
  return path?.toLowerCase().endsWith('.parquet') ?? false;
}
