/** What a reply of the single-record search says of a record (interface, 4.4: any JSON), by result column. */

/**
 * @param columns result column to the path of its value in the reply.
 * @returns a text for each column, empty where the reply has none; null where it has none at all.
 */
export function searchValues(
  reply: unknown,
  columns: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> | null {
  const values = Object.entries(columns).map(([column, path]) => [column, valueAt(reply, path)] as const);
  return values.some(([, value]) => value !== '') ? Object.fromEntries(values) : null;
}

function valueAt(reply: unknown, path: string): string {
  let value = reply;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return '';
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  // No part may hold control characters that no CSV reader takes, and neither may the output.
  return typeof value === 'string' ? value.replace(/\p{Cc}+/gu, ' ').trim() : '';
}
