/**
 * Text from outside (a source, a config file, a reply of the service), made fit for messages, logs and cells: without
 * control characters, which could act on a terminal, and short.
 */

/** Control, format (bidi), surrogate, private and unassigned characters, and line separators. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

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

/** @param unprintable matches each character that is written as `\u{hex}`; it has the flags `gu`. */
export function escapeUnprintable(text: string, unprintable = UNPRINTABLE): string {
  return text.replace(unprintable, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}

/**
 * The text as one line, without white space at its ends.
 * @param gap matches each run of characters that becomes one space; it has the flags `gu`.
 */
export function oneLine(text: string, gap = GAP): string {
  return text.replace(gap, ' ').trim();
}

/** A text longer than `maxLength` UTF-16 units, cut to `keep` units with an ellipsis behind them. */
export function shorten(
  text: string,
  maxLength: number,
  { keep = maxLength - 1, ellipsis = '…' }: { readonly keep?: number; readonly ellipsis?: string } = {},
): string {
  return text.length > maxLength ? `${text.slice(0, keep)}${ellipsis}` : text;
}
