/** The section `load`: the table into which publications are loaded, and the address of its database. */
import { z } from 'zod';
import { HiddenText } from './hidden-text.js';
import { choice, flag } from './values.js';

/** The value of `load.into` for databases that foliopipe only writes statements for. */
const LOADS_NOTHING = 'none';

const SCHEMES: ReadonlySet<string> = new Set(['postgres:', 'postgresql:']);

/** Whether a text is the address of a Postgres database. */
export function isPostgres(text: string): boolean {
  return URL.canParse(text) && SCHEMES.has(new URL(text).protocol);
}

/** The prefix of the path of a DuckDB file. */
export const DUCKDB = 'duckdb:';

/** Whether a text names a DuckDB file. */
export function isDuckdbFile(text: string): boolean {
  return text.startsWith(DUCKDB) && /^[^~\p{Cc}][^\p{Cc}]*$/u.test(text.slice(DUCKDB.length));
}

export const loadSchema = z
  .strictObject({
    into: z
      .string()
      .refine((text) => text === LOADS_NOTHING || isPostgres(text) || isDuckdbFile(text))
      .describe('an address such as postgres://user@host/database or duckdb:warehouse.duckdb, or none'),
    table: z
      .string()
      .regex(/^[^\p{Cc}]{1,200}$/u)
      .describe('the name of a table, such as businesses or analytics.businesses'),
    mode: choice(['append', 'replace', 'merge']),
    onSchema: choice(['fail', 'add']).default('fail'),
    onRemoved: choice(['keep', 'delete']).default('keep'),
    partial: flag.default(false),
  })
  .nullable()
  .default(null);

type ParsedLoad = NonNullable<z.output<typeof loadSchema>>;

/** The section ready for use. */
export interface LoadConfig extends Readonly<Omit<ParsedLoad, 'into'>> {
  /** Null: nothing is loaded. */
  readonly into: DatabaseAddress | null;
}

/** The section ready for use; null if the config has none. */
export function resolveLoad(parsed: Readonly<ParsedLoad> | null): LoadConfig | null {
  if (parsed === null) return null;
  const into = parsed.into === LOADS_NOTHING ? null : new DatabaseAddress(parsed.into);
  return { ...parsed, into };
}

/**
 * The address of a database. Only scheme, host and database are shown: user, password and options are secret. The path of
 * a DuckDB file is no secret.
 */
export class DatabaseAddress extends HiddenText {
  /** @param origin where the address comes from: a variable, or a file and line. */
  constructor(
    url: string,
    readonly origin?: string,
  ) {
    super(url);
  }

  /** Such as `postgres`. */
  get scheme(): string {
    if (this.file !== null) return 'duckdb';
    return new URL(this.reveal()).protocol.replace(/(?:ql)?:$/, '');
  }

  /** The path of a DuckDB file; null for another database. */
  get file(): string | null {
    const url = this.reveal();
    return url.startsWith(DUCKDB) ? url.slice(DUCKDB.length) : null;
  }

  /**
   * An address without user, password and options is no secret. A password that is also a part of the shown address, such
   * as `postgres`, is not listed alone: hiding it there would give it away.
   */
  override secrets(): readonly string[] {
    if (this.file !== null) return [];
    const { username, password, search, searchParams } = new URL(this.reveal());
    const shown = `${this}`;
    const passwords = [password, searchParams.get('password') ?? ''];
    return [
      ...(username === '' && password === '' && search === '' ? [] : [this.reveal()]),
      ...passwords.filter((text) => text !== '' && !shown.includes(text)),
    ];
  }

  override toString(): string {
    if (this.file !== null) return this.reveal();
    const { host, pathname } = new URL(this.reveal());
    return `${this.scheme}://${host}${pathname}`;
  }
}
