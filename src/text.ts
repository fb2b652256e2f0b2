/**
 * Text from outside (a source, a config file, a reply of the service), made fit for messages, logs and cells: without
 * control characters, which could act on a terminal, and short.
 */

/** Control, format (bidi), surrogate, private and unassigned characters, and line separators. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** Like `UNPRINTABLE`, except that line ends and tabs count as printable. */
const UNPRINTABLE_IN_LINES = /[^\P{C}\n\t]|[\p{Zl}\p{Zp}]/gu;

/** A run of unprintable characters and of white space of any kind. */
const GAP = /[\p{C}\p{Z}\s]+/gu;

/**
 * Quotes text for a message: at most `maxLength` characters of it, with unprintable ones written as `\u{hex}`.
 * @param text as bytes, it is UTF-8.
 */
export function showText(text: string | Uint8Array, maxLength = 60): string {
  // A character has at most 4 bytes in UTF-8: decode no more of a large record than can be shown.
  const whole = typeof text === 'string' ? text : Buffer.from(text.subarray(0, maxLength * 4 + 4)).toString();
  const characters = Array.from(whole.slice(0, maxLength * 2 + 2));
  const shown = escapeUnprintable(characters.slice(0, maxLength).join(''));
  return `"${shown}${characters.length > maxLength ? '…' : ''}"`;
}

/**
 * Text in quotes, as it is typed into a config. What cannot be seen, such as a no-break space, is written as `\uXXXX`,
 * which YAML reads.
 */
export function typedText(text: string): string {
  return escapeUnits(JSON.stringify(text), /(?! )[\p{C}\p{Z}]/gu);
}

/** The most names that a message lists; the others are only counted. */
const MOST_NAMES = 20;

/** Lists names in quotes, such as `"id", "name" and 58 more`. @param maxLength of each. */
export function showNames(names: readonly string[], maxLength = 60): string {
  const shown = names.slice(0, MOST_NAMES).map((name) => showText(name, maxLength));
  const more = names.length - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** @param unprintable matches each character that is written as `\u{hex}`; it has the flags `gu`. */
export function escapeUnprintable(text: string, unprintable = UNPRINTABLE): string {
  return text.replace(unprintable, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}

/**
 * What was thrown, as a short text that can be shown: the message of an error, else the value. Anything can be thrown.
 */
export function thrownText(thrown: unknown): string {
  try {
    const message = (thrown as Partial<Error> | null | undefined)?.message;
    return shorten(escapeUnprintable(typeof message === 'string' ? message : String(thrown)), 500);
  } catch {
    return 'something that has no text';
  }
}

/** Lines of text for a terminal: all unprintable characters except line ends and tabs are written as `\u{hex}`. */
export function safeLines(text: string): string {
  return escapeUnprintable(text, UNPRINTABLE_IN_LINES);
}

/**
 * A value as JSON whose text can be shown: unprintable characters are written as `\uXXXX`, so that a reader gets the
 * same value.
 * @param indent spaces a level; 0 writes one line.
 */
export function safeJson(value: unknown, indent = 0): string {
  return safeJsonText(JSON.stringify(value, null, indent));
}

/** JSON that is written already, made fit to be shown. Its line ends stay. */
export function safeJsonText(json: string): string {
  return escapeUnits(json, UNPRINTABLE_IN_LINES);
}

/** @param unprintable matches each character that is written as `\uXXXX`, one for each of its UTF-16 units. */
function escapeUnits(text: string, unprintable: RegExp): string {
  return text.replace(unprintable, (character) =>
    Array.from(
      { length: character.length },
      (_, unit) => `\\u${character.charCodeAt(unit).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}

/**
 * The text as one line, without white space at its ends.
 * @param gap matches each run of characters that becomes one space; it has the flags `gu`.
 */
export function oneLine(text: string, gap = GAP): string {
  return text.replace(gap, ' ').trim();
}

/** A text of at most `maxLength` UTF-16 units: a longer one is cut, and ends with an ellipsis. */
export function shorten(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
}

/** The texts of a list, without the places where a condition has left one out. */
export function presentTexts(texts: readonly (string | false | undefined)[]): string[] {
  return texts.filter((text) => text !== false && text !== undefined);
}

/** A word as a shell reads it: in quotes only if it needs them. */
export function quoteForShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : inShellQuotes(word);
}

/** A word in single quotes for a shell. It may hold any characters. */
export function inShellQuotes(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * A delimiter in the name of a column: if it is the only column, the name is probably a header that was not split. The
 * comma is looked for last, because it is the most common in names. `sep=;` is no header: Excel's line before it.
 * @param taken the delimiter with which the header was read.
 */
export function delimiterIn(name: string, taken: string | undefined): string | undefined {
  if (/^sep=.$/i.test(name)) return undefined;
  return [';', '\t', '|', ','].find((delimiter) => delimiter !== taken && name.includes(delimiter));
}
