/** Statements whose values have names, prepared once a connection. */

/** A value that a statement takes. */
export type Value = string | number | boolean | null | Uint8Array;

/** A statement that returns rows of this type. */
export interface Prepared<Row> {
  readonly name: string;
  /** With `$1` and so on in place of the names. */
  readonly text: string;
  /** The names of its values, in the order of their numbers. */
  readonly keys: readonly string[];
  /** Only for the type. */
  readonly row?: Row;
}

let made = 0;

/**
 * Makes a statement. Called once for each.
 * @param sql with `@name` for each value.
 */
export function statement<Row = Record<string, unknown>>(sql: string): Prepared<Row> {
  const keys: string[] = [];
  const text = sql.replaceAll(/@(\w+)/g, (_, key: string) => {
    if (!keys.includes(key)) keys.push(key);
    return `$${keys.indexOf(key) + 1}`;
  });
  made += 1;
  return { name: `foliopipe_${made}`, text, keys };
}

/** SQL for a time as epoch milliseconds, or for an interval in milliseconds: a number with fractions. */
export function epochMs(time: string): string {
  return `(extract(epoch FROM ${time}) * 1000)::float8`;
}

/** A list as a value, which the statement casts to an array. @param values without commas and quotes. */
export function listOf(values: Iterable<string | number>): string {
  return `{${[...values].join(',')}}`;
}

/** @throws TypeError when a value is missing, because the driver would take it for NULL. */
export function valuesOf(
  { keys, text }: Prepared<unknown>,
  values: Readonly<Record<string, Value>>,
): Value[] {
  return keys.map((key) => {
    const value = values[key];
    if (value === undefined) throw new TypeError(`no value for ${key} in: ${text}`);
    return value;
  });
}
