/** The section `source`: where the records come from, a file, standard input or a query, and how they are read. */
import iconv from 'iconv-lite';
import { z } from 'zod';
import { DatabaseAddress, isDuckdbFile, isPostgres } from './load-section.js';
import { choice, columnNames, pathOnDisk, rejectLimit, wholeNumber } from './values.js';

const querySchema = z
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

/** iconv-lite knows these names too, but they are not text encodings. */
const NOT_TEXT: ReadonlySet<string> = new Set(['base64', 'hex']);

/** The source columns that name a record. A single name may be given as a text, but `[a, b]` in a flag is a list. */
const keyColumns = z
  .union([
    z
      .string()
      .min(1)
      .refine((name) => !name.startsWith('['))
      .transform((name) => [name]),
    columnNames(1),
  ])
  .nullable()
  .describe('null, the name of a source column, or a list of source columns, each once')
  .default(null);

const sourcePath = pathOnDisk({
  address: 'copy the file to this machine first (aws s3 cp, gcloud storage cp, curl -o) and name the copy',
});

const PATH_EXPECTED = 'the path of a CSV file, a glob, or - for standard input';

export const sourceSchema = z
  .strictObject({
    path: sourcePath.nullable().describe(PATH_EXPECTED).default(null),
    query: querySchema,
    encoding: z
      .string()
      .refine((name) => name === 'auto' || (iconv.encodingExists(name) && !NOT_TEXT.has(name.toLowerCase())))
      .describe('auto, or an encoding such as utf8, utf16le or latin1')
      .default('auto'),
    delimiter: z
      .string()
      // YAML reads \t as a tab only in double quotes.
      .transform((text) => (text === '\\t' ? '\t' : text))
      .refine((text) => text === 'auto' || /^[\t\x20-\x7e]$/.test(text))
      .refine((text) => text !== '"')
      .describe('auto, or one ASCII character that is not a quote, such as ; or \\t (a tab)')
      .default('auto'),
    quote: choice(['auto', 'none']).default('auto'),
    header: z
      .union([z.enum(['first', 'rename']), columnNames(1)])
      .describe('first, rename, or a list of column names for a file without a header, each once')
      .default('first'),
    skipLines: wholeNumber(0).default(0),
    maxRejected: rejectLimit.default({ records: 0 }),
    key: keyColumns,
    onChange: choice(['fail', 'supersede']).default('fail'),
  })
  .superRefine(({ path, query }, context) => {
    if (path !== null || query !== null) return;
    context.addIssue({ code: 'custom', path: ['path'], message: `is missing; expected ${PATH_EXPECTED}` });
  });

type ParsedQuery = NonNullable<z.output<typeof querySchema>>;

/** The key `query` ready for use. */
export interface SourceQuery {
  readonly database: DatabaseAddress;
  /** One statement without a semicolon at its end. It may hold secrets, and is shown nowhere. */
  readonly sql: string;
}

/** The dialect of a query and of Parquet files: foliopipe writes their records as CSV itself. */
export const OWN_DIALECT = { encoding: 'utf8', delimiter: ',' } as const;

/** What `resolveSource` adds to the section. */
export interface ResolvedSource {
  readonly query: SourceQuery | null;
  /** Whether foliopipe writes the text of the source itself. */
  readonly isOurs?: boolean;
}

interface ParsedSource {
  readonly path: string | null;
  readonly query: Readonly<ParsedQuery> | null;
}

/** The section `source` ready for use. */
export function resolveSource<S extends ParsedSource>(source: S): Omit<S, 'query'> & ResolvedSource {
  const query = source.query && {
    database: new DatabaseAddress(source.query.database),
    sql: source.query.sql,
  };
  const isOurs = query !== null || isParquet(source);
  return { ...source, ...(isOurs && { ...OWN_DIALECT, isOurs }), query };
}

/** Whether a source is Parquet, by the ending of its path. */
export function isParquet({ path }: Pick<ParsedSource, 'path'>): boolean {
  return path?.toLowerCase().endsWith('.parquet') ?? false;
}
