/** Generated CSV: records as values, written in ways that mean the same. */
import fc from 'fast-check';

/** What a field may hold, with much of what CSV gives a meaning to. */
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

/** A field as it may be written: quoted where it must be, and where `quoted` says so. */
export function writeCsvField(text: string, delimiter: string, quoted: boolean): string {
  const mustQuote = /["\r\n]/.test(text) || text.includes(delimiter);
  return mustQuote || quoted ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A record with its line end; one that would be an empty line is quoted. */
export function writeCsvRecord(
  values: readonly string[],
  delimiter: string,
  quoted: (at: number) => boolean,
  newline: string,
): string {
  const line = values.map((text, at) => writeCsvField(text, delimiter, quoted(at))).join(delimiter);
  return (line === '' ? '""' : line) + newline;
}

/** Deterministic and unordered: whether the `n`th of something is quoted, shuffled and so on. */
export function scramble(seed: number, n: number): number {
  let mixed = Math.imul(seed ^ (n + 1), 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}

/** The same items in an order that the seed decides. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  return items
    .map((item, at) => ({ item, rank: scramble(seed, at) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}
