/** Generated CSV: the same values written in different ways. */
import fc from 'fast-check';

/** A field's value, with many characters that have a meaning in CSV. */
export const value = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '"',
        ',',
        ';',
        '\n',
        '\r',
        '\r\n',
        ' ',
        'a',
        'B',
        '7',
        'é',
        'ß',
        '漢',
        '😀',
        "'",
        '\t',
        '=',
      ),
      fc.string({ maxLength: 3 }),
    ),
    { maxLength: 4 },
  )
  .map((pieces) => Buffer.from(pieces.join('').replaceAll('\0', '')).toString());

/** Quotes a field where it must be quoted, and where `quoted` is true. */
export function writeCsvField(text: string, delimiter: string, quoted: boolean): string {
  const mustQuote = /["\r\n]/.test(text) || text.includes(delimiter);
  return mustQuote || quoted ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A record with its newline; a record that would be an empty line is quoted. */
export function writeCsvRecord(
  values: readonly string[],
  delimiter: string,
  quoted: (at: number) => boolean,
  newline: string,
): string {
  const line = values.map((text, at) => writeCsvField(text, delimiter, quoted(at))).join(delimiter);
  return (line === '' ? '""' : line) + newline;
}

/** A number that looks random but depends only on `seed` and `n`. */
export function scramble(seed: number, n: number): number {
  let mixed = Math.imul(seed ^ (n + 1), 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}

/** The items in an order that depends on the seed. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  return items
    .map((item, at) => ({ item, rank: scramble(seed, at) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}
