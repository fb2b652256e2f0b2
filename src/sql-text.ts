/** Names and texts in SQL, in a form that all databases read for which foliopipe writes SQL. */

/** The name in quotes, so that it can hold any text and is never taken for SQL. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The text in quotes. Where backslashes are escapes, it must hold none. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
